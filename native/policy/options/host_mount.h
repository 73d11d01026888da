#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// A host path that a command gets, at a path inside that the caller chose.
struct HostMount {
  std::optional<std::string> label;  // for messages
  std::string host_path;
  std::string guest_path;
  bool writable = false;
};

// How many a runner takes: each is a descriptor of bwrap's.
inline constexpr std::size_t kMostMounts = 256;

// kInvalidValue, naming the field: a path that is not absolute, has ".." or a NUL byte; a guest
// path in or above /proc or /dev, that is the workspace or above it, or that an earlier mount has
// or lies below.
std::optional<Error> CheckHostMounts(const std::vector<HostMount>& mounts);

// Of one mount: "mounts[1].hostPath", with its label where it has one.
std::string HostPathField(const std::vector<HostMount>& mounts, std::size_t index);

}  // namespace native_runner

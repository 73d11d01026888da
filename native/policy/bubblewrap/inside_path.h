#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"

namespace native_runner {

// Where a path leads that is looked up in a sandbox.
struct InsidePath {
  std::string path;          // inside, behind all links
  std::string host;          // what of the host's is there; empty: the sandbox's own
  bool is_there = false;     // on the host; of the sandbox's own nothing is known
  bool is_writable = false;  // it is the host's, and commands may write to it
};

// What the host has at a path of its own, which may go by links but does not end in one.
struct HostEntry {
  bool is_there = false;
  std::string link;  // the text of a link; empty: it is none
};
using LookAtHost = std::function<HostEntry(const std::string& path)>;

// Follows `path` through `mounts`, of which a later one hides an earlier one, as programs inside
// will, along the host's own links. nullopt: links lead in circles.
std::optional<InsidePath> FollowInside(std::string_view path, const std::vector<Mount>& mounts,
                                       const LookAtHost& look);

}  // namespace native_runner

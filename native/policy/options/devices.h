#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// The option `devices`: character devices by path, and names of families. Pure; what the host has
// is looked up by OpenDevices (supervise/project/devices.h).

// The most entries of the option.
inline constexpr std::size_t kMostDevices = 64;

// A node of a family. A path that ends with '#' stands for all nodes whose name ends with a decimal
// number in that place.
struct FamilyNode {
  std::string_view path;
  bool may_lack = false;  // a host without it is no failure
};

// The nodes that programs for one kind of device open, and what of /sys they read. A row of a
// table.
struct DeviceFamily {
  std::string_view name;
  bool by_number = false;  // NAME:N is the one with this number, with the nodes that all share
  std::span<const FamilyNode> nodes;
  // Patterns of glob(7). What a match leads to is shown, read-only, if it is there.
  std::span<const std::string_view> parts;
  std::string_view driver;  // for messages: what the host has to have
  // Its driver writes the names of threads to /proc/self/task/*/comm, and fails if it may not.
  bool names_threads = false;
};

// An entry of the option that names a family.
struct AskedFamily {
  const DeviceFamily* family = nullptr;
  std::string number;  // decimal digits; empty: all
};

// Returns nullopt for any other text, such as a path.
std::optional<AskedFamily> ParseFamily(std::string_view entry);

// True if the driver of one of the entries names threads through /proc.
bool NamesThreads(const std::vector<std::string>& devices);

// Where the option is used.
enum class DevicesOf {
  kOwnDev,     // a sandbox with a /dev of its own
  kEmptyDev,   // a sandbox that has only these below /dev
  kHostPaths,  // Landlock
};

// Returns kInvalidValue, naming the entry, for one that is neither a family nor a path below /dev,
// and for one that can't be had there.
std::optional<Error> CheckDevices(const std::vector<std::string>& devices, DevicesOf use);

// True if a sandbox with a /dev of its own has this node already.
bool IsOwnNode(std::string_view path);

// Returns what a character device gives that no command may have, as a clause: "is the memory of
// the machine". nullptr if it may be shown. By number: a node of any name may have it. `path`: the
// node's real one, for drivers that have no fixed number.
const char* WhyRefused(std::uint32_t major, std::uint32_t minor, std::string_view path);

}  // namespace native_runner

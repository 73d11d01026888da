#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace native_runner {

// Which wall said no.
enum class DeniedBy { kBubblewrap, kLandlock, kFirejail, kSeccomp, kNetwork, kLimits };

// "bubblewrap", "landlock", "firejail", "seccomp", "network", "limits".
const char* DeniedByName(DeniedBy by);

// The least that would have let a command do what it was refused: an option of the runner's or of
// the call's limits, with what to add to it.
struct Grant {
  enum class Kind {
    kNone,
    kMount,    // `mounts`: host_path at guest_path
    kPath,     // an option that is a list of host paths: host_path
    kText,     // another list, or a mode: text
    kList,     // a list of texts: text
    kNumber,   // limits: number
    kBoolean,  // number != 0
  };
  Kind kind = Kind::kNone;
  std::string option = {};  // "mounts", "fsReadDirs", "network.allow", "limits.memoryBytes"
  std::string host_path = {};
  std::string guest_path = {};
  bool writable = false;
  std::string text = {};
  std::uint64_t number = 0;

  bool operator==(const Grant&) const = default;
};

// One refusal by a wall of the sandbox's, or several alike. A plain value; types/denials.d.ts says
// what its fields mean.
struct Denial {
  const char* kind = "other";  // "read", "write", "exec", "connect", "resolve", "other"
  std::string operation;
  std::string path;
  std::string host_path;
  std::string host;
  std::uint16_t port = 0;
  std::string program;
  std::string error;  // errno's name, or empty
  DeniedBy by = DeniedBy::kBubblewrap;
  std::uint64_t count = 1;
  Grant grant;
  std::string not_advised;  // in place of a grant: a clause
};

inline constexpr std::size_t kMostDenials = 256;

struct DenialLog {
  std::vector<Denial> denials;
  std::uint64_t omitted = 0;
};

}  // namespace native_runner

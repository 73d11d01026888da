#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protocol/report.h"

namespace native_runner {

// Returns "EROFS" for 30 and so on (errno(3)); the number in decimal for an error without a name
// here; empty for 0.
std::string ErrorName(int error);

// A system call of the command that was refused, as the launcher saw it. The command chooses the
// texts, so they are hints for people.
struct Observation {
  using Kind = ObservationKind;

  std::string call;  // as man pages name it
  Kind kind = Kind::kOther;
  int error = 0;            // errno
  std::string path;         // as the command sees it; absolute if that could be found out
  std::string second_path;  // of rename(2), link(2) and symlink(2)
  std::string address;      // kConnect, kBind: an IP address; "unix:@" and an abstract name;
                            // "family:" and a number. A socket's path is in `path`
  std::uint16_t port = 0;
  std::string program;         // the process's name (comm in proc_pid_comm(5))
  bool by_filter = false;      // the launcher's own seccomp filter refused it
  std::uint64_t argument = 0;  // the flags, mode or family passed to the call
  std::uint32_t count = 1;     // number of equal observations

  bool operator==(const Observation&) const = default;
};

// Returns the observations of a message of kind kObserved, up to the first malformed one. `bytes`
// is the part after the Report.
std::vector<Observation> ReadObservations(std::span<const std::byte> bytes);

}  // namespace native_runner

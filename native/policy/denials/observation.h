#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protocol/report.h"

namespace native_runner {

// "EROFS" for 30 and so on (errno(3)); the number in decimals for one without a name here; empty
// for 0.
std::string ErrorName(int error);

// A system call of the command's that was refused, as the launcher saw it. The texts are the
// command's to choose: hints, for people.
struct Observation {
  using Kind = ObservationKind;

  std::string call;  // as man pages name it
  Kind kind = Kind::kOther;
  int error = 0;            // errno
  std::string path;         // absolute where that could be found out, as the command sees it
  std::string second_path;  // of rename(2), link(2) and symlink(2)
  std::string address;      // kConnect, kBind: an IP address; "unix:@" and an abstract name;
                            // "family:" and a number. A socket's path is in `path`
  std::uint16_t port = 0;
  std::string program;         // the process' name (comm in proc_pid_comm(5))
  bool by_filter = false;      // the launcher's own seccomp filter has refused it
  std::uint64_t argument = 0;  // the flags, mode or family that the call was made with
  std::uint32_t count = 1;     // how many alike

  bool operator==(const Observation&) const = default;
};

// The observations of a message of kind kObserved, as far as they are well-formed: the first that
// is not ends it. `bytes`: what follows the Report.
std::vector<Observation> ReadObservations(std::span<const std::byte> bytes);

}  // namespace native_runner

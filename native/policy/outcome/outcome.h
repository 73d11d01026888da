#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/options/limits.h"
#include "protocol/report.h"

namespace native_runner {

enum class OutcomeKind {
  kExited,
  kSignaled,
  kTimedOut,
  kAborted,
  kNotFound,
  kNotExecutable,
  kSetupFailed,
  kLimitExceeded,
  kLeaseExpired,
};

struct Usage {
  std::uint64_t user_cpu_us = 0;
  std::uint64_t system_cpu_us = 0;
  std::uint64_t peak_memory_bytes = 0;
};

// How a run ended. `exit_code` follows the contract's table (124 timed out, 130 aborted, 127, 126,
// 125 set-up failed, 128+n by signal n, 137 lease expired).
struct Outcome {
  OutcomeKind kind = OutcomeKind::kSetupFailed;
  int exit_code = 125;
  int signal = 0;      // signal number, 0 = none
  std::string reason;  // kSetupFailed
  std::string fix;     // kSetupFailed: what the operator can do, when that is known
  std::string limit;   // kLimitExceeded: the name of the NativeLimits field
};

// "exited", "signaled", "timed-out", "aborted", "not-found", "not-executable", "setup-failed",
// "limit-exceeded", "lease-expired".
const char* OutcomeName(OutcomeKind kind);

// "SIGKILL" for 9 and so on; "SIGRTMIN+n" for a real-time one; "SIG<n>"
// for one without a name.
std::string SignalName(int signal);

// From what the launcher reported. `memory_killed`: the run's cgroup counted an OOM kill.
Outcome OutcomeOfExit(const Report& report, const Limits& limits, bool memory_killed);
Outcome OutcomeOfFailedStart(const Report& report);
Outcome TimedOut();
Outcome Aborted();
Outcome LeaseExpired();
Outcome SetupFailed(std::string reason);
Outcome Signaled(int signal);

}  // namespace native_runner

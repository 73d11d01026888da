#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/options/request.h"
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

// How a run ended. `exit_code` follows the contract's table (124 timed out, 130 aborted, 127 not
// found, 126 not executable, 125 set-up failed, 128+n by signal n, 137 lease expired).
struct Outcome {
  OutcomeKind kind = OutcomeKind::kSetupFailed;
  int exit_code = 125;
  int signal = 0;      // signal number, 0 = none
  std::string reason;  // kSetupFailed
  std::string fix;     // kSetupFailed: what the operator can do, if known
  std::string limit;   // kLimitExceeded: the name of the NativeLimits field
};

// Returns "exited", "signaled", "timed-out", "aborted", "not-found", "not-executable",
// "setup-failed", "limit-exceeded" or "lease-expired".
const char* OutcomeName(OutcomeKind kind);

// Returns "SIGKILL" for 9 and so on; "SIGRTMIN+n" for a real-time signal; "SIG<n>" for one without
// a name.
std::string SignalName(int signal);

// Return the outcome for a launcher's report. `memory_killed`: the run's cgroup counted an OOM
// kill.
Outcome OutcomeOfExit(const Report& report, const Limits& limits, bool memory_killed);
Outcome OutcomeOfFailedStart(const Report& report);
Outcome TimedOut();
Outcome Aborted();
Outcome LeaseExpired();
// The supervisor ended the run for a limit (the name of a NativeLimits field).
Outcome OverLimit(const char* limit);
Outcome SetupFailed(std::string reason);
Outcome Signaled(int signal);

// The bytes of a stream that are kept: the first `head` and the last `tail`; head + tail == limit.
// kHead keeps only the head. An odd limit gives the head its extra byte.
struct KeepRule {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
};
KeepRule KeepRuleFor(std::uint64_t limit, Keep keep);

// The moments of one run, in nanoseconds of CLOCK_MONOTONIC, which all processes of a host share.
// 0: the run did not get there, or the time is unknown. Two come from the launcher, which knows
// them first: the supervisor reads reports late, to save wake-ups.
struct RunTimestamps {
  std::uint64_t submitted = 0;      // by the caller
  std::uint64_t started = 0;        // its turn came; the deadline counts from here
  std::uint64_t ready = 0;          // set-up is done, the command is about to start (launcher)
  std::uint64_t command_ended = 0;  // or could not be started (launcher)
  std::uint64_t kill_asked = 0;     // a deadline or an abort ended it
  std::uint64_t ended = 0;          // all its processes are known to be gone
};

// The durations of a run's parts, in microseconds. They follow one another without a gap, so their
// sum is the whole. 0: the run did not get there.
struct Timing {
  std::uint64_t queue_us = 0;     // waiting for its turn
  std::uint64_t setup_us = 0;     // until the command starts
  std::uint64_t command_us = 0;   // until it ended, or its end was requested
  std::uint64_t teardown_us = 0;  // killing and reaping the rest, until all are known to be gone
};

// Computes the durations. Moments that contradict each other (a launcher with a clock of its own)
// shorten parts but never make one negative.
Timing TimingOf(const RunTimestamps& moments);

// The facts of the host that decide whether bwrap can make a sandbox. A snapshot and plain value; a
// text is empty where the host has no such thing.
struct SetupFacts {
  bool is_root = false;             // effective uid 0
  bool is_in_bwrap = false;         // this process is in a sandbox of bwrap's
  std::string max_user_namespaces;  // user.max_user_namespaces
  std::string unprivileged_userns;  // kernel.unprivileged_userns_clone: Debian's kernels
  std::string apparmor_userns;      // kernel.apparmor_restrict_unprivileged_userns: Ubuntu's
  std::string container;            // such as "docker"
  std::string apparmor_profile;     // the enforced profile that confines this process
  std::string covered_proc;         // a path below /proc that another mount covers
};

// Returns what the operator can do about `reason`, a message of bwrap or about it; may have several
// lines; empty if unknown. `program`: bwrap's name or absolute path. Pure.
std::string BubblewrapFix(std::string_view reason, const SetupFacts& facts,
                          std::string_view program);

// Returns what the operator can do if `reason`, a message of the launcher or bwrap, is that root's
// commands may not enter a directory of another user; empty otherwise. Pure.
std::string EntryFix(std::string_view reason, bool is_root);

}  // namespace native_runner

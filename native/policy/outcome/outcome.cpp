#include "policy/outcome/outcome.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

namespace native_runner {
namespace {

constexpr int kSigKill = 9;
constexpr int kSigXcpu = 24;
constexpr int kSigXfsz = 25;
constexpr std::uint64_t kMicrosecondsPerSecond = 1'000'000;
constexpr char kTerminalFix[] =
    "leave out `pty`, or give the sandbox a /dev with ptmx and pts (Bubblewrap: no `devBind: "
    "false`)";

// waitpid(2)'s encoding on Linux.
int TerminationSignal(std::int32_t status) {
  return status & 0x7f;
}
int ExitStatus(std::int32_t status) {
  return (status >> 8) & 0xff;
}
constexpr int kStopped = 0x7f;

Outcome LimitExceeded(int signal, const char* limit) {
  Outcome outcome = Signaled(signal);
  outcome.kind = OutcomeKind::kLimitExceeded;
  outcome.limit = limit;
  return outcome;
}

// The signal that ended the command, or, where the command is a shell, the one that the shell says
// ended what it ran (128+n); 0 for none.
int EndingSignal(std::int32_t status) {
  const int signal = TerminationSignal(status);
  return signal != 0 ? signal : std::max(ExitStatus(status) - 128, 0);
}

// The soft CPU limit sends SIGXCPU; who ignores it gets SIGKILL a second later, which is told from
// any other SIGKILL, as an exit code is from a mere number, by the time used.
bool EndedByCpuLimit(const Report& report, const Limits& limits) {
  if (!limits.cpu_seconds) return false;
  if (TerminationSignal(report.wait_status) == kSigXcpu) return true;
  const int signal = EndingSignal(report.wait_status);
  const std::uint64_t used = (report.user_cpu_us + report.system_cpu_us) / kMicrosecondsPerSecond;
  // setrlimit(2): a limit of 0 is kept as one second.
  return (signal == kSigXcpu || signal == kSigKill) &&
         used >= std::max<std::uint64_t>(*limits.cpu_seconds, 1);
}

}  // namespace

const char* OutcomeName(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kExited:
      return "exited";
    case OutcomeKind::kSignaled:
      return "signaled";
    case OutcomeKind::kTimedOut:
      return "timed-out";
    case OutcomeKind::kAborted:
      return "aborted";
    case OutcomeKind::kNotFound:
      return "not-found";
    case OutcomeKind::kNotExecutable:
      return "not-executable";
    case OutcomeKind::kSetupFailed:
      return "setup-failed";
    case OutcomeKind::kLimitExceeded:
      return "limit-exceeded";
    case OutcomeKind::kLeaseExpired:
      return "lease-expired";
  }
  return "";
}

Outcome OutcomeOfExit(const Report& report, const Limits& limits, bool memory_killed) {
  if (report.lease_expired != 0) return LeaseExpired();
  const int signal = TerminationSignal(report.wait_status);
  if (signal == kStopped) return SetupFailed("the launcher reported a command that did not end");
  if (memory_killed && EndingSignal(report.wait_status) == kSigKill) {
    return LimitExceeded(kSigKill, "memoryBytes");
  }
  if (EndedByCpuLimit(report, limits)) {
    return LimitExceeded(EndingSignal(report.wait_status), "cpuSeconds");
  }
  if (signal == 0) {
    Outcome outcome;
    outcome.kind = OutcomeKind::kExited;
    outcome.exit_code = ExitStatus(report.wait_status);
    return outcome;
  }
  if (signal == kSigXfsz && limits.max_file_bytes) return LimitExceeded(signal, "maxFileBytes");
  return Signaled(signal);
}

Outcome OutcomeOfFailedStart(const Report& report) {
  if (report.kind == ReportKind::kFailed) {
    Outcome outcome;
    const bool is_missing = report.not_found != 0;
    outcome.kind = is_missing ? OutcomeKind::kNotFound : OutcomeKind::kNotExecutable;
    outcome.exit_code = is_missing ? 127 : 126;
    return outcome;
  }
  // The report crossed a socket: its text may lack the final NUL.
  std::string reason(std::begin(report.text),
                     std::find(std::begin(report.text), std::end(report.text), '\0'));
  if (reason.empty()) reason = "the launcher refused to start the command";
  if (report.error != 0) {
    const std::string error = std::generic_category().message(report.error);
    if (!reason.ends_with(error)) reason += ": " + error;  // the text may have it already
  }
  const bool is_terminal = reason.starts_with("terminal: ");
  Outcome outcome = SetupFailed(std::move(reason));
  if (is_terminal) outcome.fix = kTerminalFix;
  return outcome;
}

Outcome TimedOut() {
  Outcome outcome;
  outcome.kind = OutcomeKind::kTimedOut;
  outcome.exit_code = 124;
  outcome.signal = kSigKill;
  return outcome;
}

Outcome Aborted() {
  Outcome outcome;
  outcome.kind = OutcomeKind::kAborted;
  outcome.exit_code = 130;
  return outcome;
}

Outcome LeaseExpired() {
  Outcome outcome = Signaled(kSigKill);
  outcome.kind = OutcomeKind::kLeaseExpired;
  return outcome;
}

Outcome SetupFailed(std::string reason) {
  Outcome outcome;
  outcome.reason = std::move(reason);
  return outcome;
}

Outcome Signaled(int signal) {
  Outcome outcome;
  outcome.kind = OutcomeKind::kSignaled;
  outcome.exit_code = 128 + signal;
  outcome.signal = signal;
  return outcome;
}

}  // namespace native_runner

#include "policy/run/outcome.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace native_runner {
namespace {

// signal(7), the numbers of x86, Arm and the generic ABI; index 0 is signal 1.
constexpr std::array<const char*, 31> kNames = {
    "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",  "SIGFPE",
    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT",
    "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",  "SIGXCPU",
    "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};

// glibc and musl reserve 32 and 33 (musl: 34 too); names count from glibc's 34.
constexpr int kFirstRealTime = 34;
constexpr int kLastRealTime = 64;

}  // namespace

std::string SignalName(int signal) {
  if (signal >= 1 && signal <= static_cast<int>(kNames.size())) {
    return kNames[static_cast<std::size_t>(signal) - 1];
  }
  if (signal == kFirstRealTime) return "SIGRTMIN";
  if (signal > kFirstRealTime && signal <= kLastRealTime) {
    return "SIGRTMIN+" + std::to_string(signal - kFirstRealTime);
  }
  return "SIG" + std::to_string(signal);
}

namespace {

constexpr int kSigKill = 9;
constexpr int kSigXcpu = 24;
constexpr int kSigXfsz = 25;
constexpr std::uint64_t kMicrosecondsPerSecond = 1'000'000;
constexpr char kTerminalFix[] =
    "leave out `pty`, or give the sandbox a /dev with ptmx and pts (Bubblewrap: no `devBind: "
    "false`)";

constexpr char kInFlightFix[] =
    "raise the limit of open files (`ulimit -n`), or end the programs of this user that have sent "
    "descriptors which nobody has received (ETOOMANYREFS in unix(7))";

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

// Returns the signal that ended the command or, if the command is a shell, the one that ended the
// shell's command (128+n); 0 for none.
int EndingSignal(std::int32_t status) {
  const int signal = TerminationSignal(status);
  return signal != 0 ? signal : std::max(ExitStatus(status) - 128, 0);
}

// True if the CPU limit ended the command. The soft limit sends SIGXCPU; a process that ignores it
// gets SIGKILL a second later. The CPU time used separates that SIGKILL from any other, and a
// shell's 128+n from an ordinary exit code.
bool EndedByCpuLimit(const Report& report, const Limits& limits) {
  if (!limits.cpu_seconds) return false;
  if (TerminationSignal(report.wait_status) == kSigXcpu) return true;
  const int signal = EndingSignal(report.wait_status);
  const std::uint64_t used = (report.user_cpu_us + report.system_cpu_us) / kMicrosecondsPerSecond;
  // setrlimit(2): a limit of 0 is applied as one second.
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
  // The report crossed a socket, so its text may lack the final NUL.
  std::string reason(std::begin(report.text),
                     std::find(std::begin(report.text), std::end(report.text), '\0'));
  if (reason.empty()) reason = "the launcher refused to start the command";
  if (report.error != 0) {
    const std::string error = std::generic_category().message(report.error);
    if (!reason.ends_with(error)) reason += ": " + error;  // the text may already have it
  }
  const bool is_terminal = reason.starts_with("terminal: ");
  const bool is_handed_over = reason.find("cannot hand it to the host") == std::string::npos;
  Outcome outcome = SetupFailed(std::move(reason));
  if (is_terminal) outcome.fix = is_handed_over ? kTerminalFix : kInFlightFix;
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

Outcome OverLimit(const char* limit) {
  return LimitExceeded(kSigKill, limit);
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

KeepRule KeepRuleFor(std::uint64_t limit, Keep keep) {
  if (keep == Keep::kHead) return {.head = limit, .tail = 0};
  const std::uint64_t tail = limit / 2;
  return {.head = limit - tail, .tail = tail};
}

namespace {

constexpr std::uint64_t kNanosecondsPerMicrosecond = 1'000;

std::uint64_t EarlierKnown(std::uint64_t known, std::uint64_t other) {
  return other == 0 ? known : std::min(known, other);
}

}  // namespace

Timing TimingOf(const RunTimestamps& moments) {
  const auto us = [](std::uint64_t ns) { return ns / kNanosecondsPerMicrosecond; };
  const std::uint64_t ended = moments.ended;
  const std::uint64_t started = moments.started == 0 ? ended : std::min(moments.started, ended);
  const std::uint64_t submitted =
      moments.submitted == 0 ? started : std::min(moments.submitted, started);
  // Where the last part begins. If the command was never about to start, all time before it is
  // set-up.
  const std::uint64_t over = std::max(
      started, EarlierKnown(EarlierKnown(ended, moments.command_ended), moments.kill_asked));
  const std::uint64_t ready = moments.ready == 0 ? over : std::clamp(moments.ready, started, over);
  return {us(started) - us(submitted), us(ready) - us(started), us(over) - us(ready),
          us(ended) - us(over)};
}

}  // namespace native_runner

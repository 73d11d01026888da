#include "policy/run/outcome.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
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

constexpr char kNoMoreTerminalsFix[] =
    "raise `kernel.pty.max`, of which sandboxes have what `kernel.pty.reserve` leaves, or end the "
    "programs that hold terminals";

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
  Outcome outcome = SetupFailed(std::move(reason));
  if (report.error == ETOOMANYREFS) {
    outcome.fix = kInFlightFix;
  } else if (is_terminal) {
    outcome.fix = report.error == ENOSPC ? kNoMoreTerminalsFix : kTerminalFix;
  }
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

namespace {

char LowerCase(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// A message, compared without regard to case: bwrap writes "No permissions" and "no permissions".
class Message {
 public:
  explicit Message(std::string_view text) : text_(text) {
    std::transform(text_.begin(), text_.end(), text_.begin(), LowerCase);
  }

  // `words`: in lower case.
  bool HasAny(std::initializer_list<std::string_view> words) const {
    return std::any_of(words.begin(), words.end(), [this](std::string_view word) {
      return text_.find(word) != std::string::npos;
    });
  }

 private:
  std::string text_;
};

struct ContainerFix {
  std::string_view container;
  std::string_view unmask_proc;
  std::string_view allow_namespaces;
};

constexpr std::string_view kPodMask =
    "set `procMount: Unmasked` in the container's securityContext, with `hostUsers: false`";
constexpr std::string_view kPodSeccomp =
    "set `seccompProfile: {type: Unconfined}` in the container's securityContext";
constexpr std::string_view kLxcNesting = "set `security.nesting=true` on the container";

constexpr std::array<ContainerFix, 5> kContainers = {{
    {"docker", "start the container with `--security-opt systempaths=unconfined`",
     "start the container with `--security-opt seccomp=unconfined --security-opt "
     "apparmor=unconfined --security-opt systempaths=unconfined`"},
    {"podman", "start the container with `--security-opt unmask=ALL`",
     "start the container with `--security-opt seccomp=unconfined --security-opt unmask=ALL`"},
    {"kubernetes", kPodMask, kPodSeccomp},
    {"kubepods", kPodMask, kPodSeccomp},
    {"lxc", kLxcNesting, kLxcNesting},
}};

// For a container of an unknown kind Docker's words, which the others understand best.
const ContainerFix& FixOfContainer(std::string_view container) {
  const auto* const found =
      std::find_if(kContainers.begin(), kContainers.end(),
                   [container](const ContainerFix& each) { return each.container == container; });
  return found == kContainers.end() ? kContainers.front() : *found;
}

std::string SetSysctl(std::string_view name, std::string_view value) {
  std::string text("run `sysctl -w ");
  text.append(name).append("=").append(value);
  return text + "`, and keep it in /etc/sysctl.d/90-userns.conf";
}

constexpr std::string_view kMountProc =
    "let the outer sandbox mount a /proc of its own: `bwrap --unshare-pid --proc /proc`";

// True for the messages of bwrap where /proc can't be written or belongs to another pid namespace,
// in which bwrap's process number belongs to another process or to none. Which of the two occurs
// first is chance.
bool IsProcOfAnother(const Message& message) {
  return message.HasAny({"uid map: read-only file system"}) ||
         (message.HasAny({"open /proc/"}) && message.HasAny({"/ns/ns", "/ns "}));
}

bool IsOutOfNamespaces(const Message& message) {
  return message.HasAny({"namespaces exceeded", "enospc"}) ||
         (message.HasAny({"no space left"}) && message.HasAny({"namespace", "unshare", "clone"}));
}

std::string OuterBwrapFix(const Message& message) {
  if (IsProcOfAnother(message) || message.HasAny({"/proc/self", "mount proc"})) {
    return std::string(kMountProc);
  }
  if (IsOutOfNamespaces(message)) {
    return "start the outer bwrap without --disable-userns, which forbids sandboxes inside it";
  }
  if (message.HasAny({"not permitted", "permission denied", "no permissions", "/ slave"})) {
    return "start the outer bwrap without --disable-userns, and without a seccomp filter that "
           "forbids namespaces and mounts";
  }
  return "";
}

std::string UnmaskProc(const SetupFacts& facts) {
  std::string text = facts.covered_proc.empty()
                         ? "this process's /proc is partly hidden"
                         : "another mount covers " + facts.covered_proc + " here";
  text += ", as containers do, and so the kernel lets no new /proc be mounted: ";
  text += facts.is_in_bwrap ? "start the outer bwrap without that mount"
                            : FixOfContainer(facts.container).unmask_proc;
  return text + ", or do without one: `procBind: false` (bubblewrap)";
}

// Returns the first option of bwrap's that the message names.
std::string OptionIn(std::string_view reason) {
  const std::size_t at = reason.find("--");
  if (at == std::string_view::npos) return "the option";
  const std::size_t end = reason.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", at);
  return std::string(reason.substr(at, end == std::string_view::npos ? end : end - at));
}

// Returns a profile that lets this one program create user namespaces, like Ubuntu's own profiles.
std::string ProfileFor(const std::string& program) {
  return "allow user namespaces to " + program +
         ": write this to /etc/apparmor.d/bwrap\n"
         "\n"
         "  abi <abi/4.0>,\n"
         "  include <tunables/global>\n"
         "  profile bwrap " +
         program +
         " flags=(unconfined) {\n"
         "    userns,\n"
         "    include if exists <local/bwrap>\n"
         "  }\n"
         "\n"
         "and load it with `apparmor_parser -r /etc/apparmor.d/bwrap`; or, for all programs,\n"
         "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`";
}

// As root, bwrap runs from a sealed copy, to whose path no profile of its own is attached. The
// launcher is a memory file: without that flag AppArmor can't resolve its path, and refuses it.
std::string LetInProfile(const SetupFacts& facts, const std::string& program) {
  std::string text = "AppArmor's profile " + facts.apparmor_profile +
                     " confines this process, and may be what refuses: allow `userns,`, `mount,`, "
                     "`umount,`, `pivot_root,` and `capability,` in it";
  if (!facts.is_root) {
    text += ", or give bwrap a profile that does and start it in that: `" + program + " px,`";
  }
  return text +
         "; and give it `flags=(attach_disconnected)`, since the launcher is a file without a path";
}

// For a refusal that names no more than permissions.
std::string RefusalFix(const SetupFacts& facts, const std::string& program) {
  if (!facts.is_root && facts.unprivileged_userns == "0") {
    return SetSysctl("kernel.unprivileged_userns_clone", "1");
  }
  if (!facts.is_root && facts.apparmor_userns == "1") return ProfileFor(program);
  if (facts.container.empty()) {
    return facts.apparmor_profile.empty() ? "" : LetInProfile(facts, program);
  }
  return std::string(FixOfContainer(facts.container).allow_namespaces);
}

// For what the launcher says of kStepShowCaches.
std::string CachesFix(const Message& message) {
  if (message.HasAny({"extended attributes"})) {
    return "use Linux 6.6 or newer, or leave out `caches`";
  }
  if (message.HasAny({"no space left"})) {
    return "give the run more memory (`limits.memoryBytes`), or leave out `caches`";
  }
  return "leave out `caches`, or name others: this kernel puts no overlay over that directory";
}

}  // namespace

std::string BubblewrapFix(std::string_view reason, const SetupFacts& facts,
                          std::string_view program) {
  const Message message(reason);
  if (message.HasAny({"pidfd_open"})) {
    return "use a kernel with pidfd_open(2), Linux 5.3 or newer; gVisor may lack it: run the host "
           "application outside of gVisor";
  }
  if (reason.starts_with("caches: ")) return CachesFix(message);
  const bool is_proc_covered = !facts.is_in_bwrap || !facts.covered_proc.empty();
  if (message.HasAny({"mount proc"}) && is_proc_covered) return UnmaskProc(facts);
  if (facts.is_in_bwrap || IsProcOfAnother(message)) return OuterBwrapFix(message);
  if (!message.HasAny({"bwrap: "})) return "";  // the host's or the launcher's own words
  if (facts.max_user_namespaces == "0" || IsOutOfNamespaces(message)) {
    return SetSysctl("user.max_user_namespaces", "15000");
  }
  if (message.HasAny({"unknown option"})) {
    return "install a bwrap whose --help lists " + OptionIn(reason) +
           "; isolation `compat` does without, and isolates less";
  }
  if (message.HasAny({"kernel does not support user namespaces"})) {
    return "use a kernel with CONFIG_USER_NS=y, or install bwrap setuid root";
  }
  if (message.HasAny({"pivot_root"})) {
    return "the root file system is a ramdisk, which can't be pivoted: move it to a tmpfs or a "
           "disk";
  }
  if (!message.HasAny({"not permitted", "permission denied", "no permissions", "rtm_new", "uid map",
                       "/ slave"})) {
    return "";
  }
  return RefusalFix(
      facts, program.starts_with('/') ? std::string(program) : "/usr/bin/" + std::string(program));
}

std::string EntryFix(std::string_view reason, bool is_root) {
  const bool is_entry =
      reason.starts_with("cannot enter ") || reason.starts_with("bwrap: Can't chdir to ");
  if (!is_root || !is_entry || !reason.ends_with("Permission denied")) return "";
  return "commands of root have none of root's capabilities, so another user's directory is closed "
         "to them as to all: run the host application as its owner, or give it to root with "
         "`chown`";
}

}  // namespace native_runner

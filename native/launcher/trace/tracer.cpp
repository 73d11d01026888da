#include "launcher/trace/tracer.h"

#include <linux/futex.h>
#include <linux/ptrace.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/trace/traced_calls.h"

// Calls of ptrace(2), in addition to calls.h.

namespace native_runner::kernel {

// The result of PTRACE_GET_SYSCALL_INFO (Linux 5.3), which older headers lack.
struct CallInfo {  // NOLINT(cppcoreguidelines-pro-type-member-init): one member of a union has it
  static constexpr std::uint8_t kExit = 2;
  static constexpr std::uint8_t kSeccomp = 3;

  std::uint8_t op = 0;
  std::uint8_t padding[3] = {};
  std::uint32_t architecture = 0;
  std::uint64_t instruction = 0;
  std::uint64_t stack = 0;
  struct Exit {
    std::int64_t result;
    std::uint8_t is_error;
  };
  struct Seccomp {
    std::uint64_t number;
    std::uint64_t arguments[6];
    std::uint32_t data;  // RET_DATA of the filter
  };
  union {
    Exit exit;
    Seccomp seccomp{};
  };
};

inline long Trace(unsigned long request, pid_t process, unsigned long address = 0,
                  unsigned long data = 0) {
  return Call(SYS_ptrace, request, process, address, data);
}
// False if the process is no longer stopped at a call, or the kernel can't report it.
inline bool GetCallInfo(pid_t process, CallInfo* info) {
  constexpr unsigned long kGetCallInfo = 0x420e;
  return Call(SYS_ptrace, kGetCallInfo, process, sizeof *info, info) > 0;
}

}  // namespace native_runner::kernel

namespace native_runner {
namespace {

constexpr pid_t kOurselves = 0;

bool HasSeveral(std::span<const std::uint64_t> set) {
  bool has_one = false;
  for (const std::uint64_t word : set) {
    if (word == 0) continue;
    if (has_one || (word & (word - 1)) != 0) return true;
    has_one = true;
  }
  return false;
}

void SetProcessors(pid_t process, const std::uint64_t* set, std::size_t size) {
  kernel::Call(SYS_sched_setaffinity, process, size, set);
}

}  // namespace

// False if there is only one processor, or the processors are unknown.
bool OneProcessor::Begin() {
  if (set_size_ == 0) {
    const long size = kernel::Call(SYS_sched_getaffinity, kOurselves, sizeof all_, all_);
    is_off_ = size <= 0 || !HasSeveral(all_);
    set_size_ = size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  unsigned processor = 0;
  if (is_off_ || kernel::Call(SYS_getcpu, &processor, nullptr, nullptr) != 0) return false;
  if (processor / 8 >= set_size_) return false;
  for (std::uint64_t& word : here_)
    word = 0;
  here_[processor / 64] = std::uint64_t{1} << (processor % 64);
  SetProcessors(kOurselves, here_, set_size_);
  return true;
}

OneProcessor::Kept* OneProcessor::Find(pid_t process) {
  for (std::size_t at = 0; at < count_; ++at)
    if (kept_[at].process == process) return &kept_[at];
  return nullptr;
}

void OneProcessor::Add(pid_t process) {
  kept_[count_++] = {process, turn_};
}

void OneProcessor::Remove(Kept* kept) {
  *kept = kept_[--count_];
  if (count_ == 0) SetProcessors(kOurselves, all_, set_size_);
}

void OneProcessor::LetGo(Kept* kept) {
  SetProcessors(kept->process, all_, set_size_);
  Remove(kept);
}

void OneProcessor::Keep(pid_t process) {
  if (is_off_) return;
  if (++stops_ == kTurn) {
    stops_ = 0;
    for (std::size_t at = count_; at-- > 0;)
      if (kept_[at].turn != turn_) LetGo(&kept_[at]);
    ++turn_;
  }
  if (Kept* const kept = Find(process)) {
    kept->turn = turn_;
    return;
  }
  if (count_ == kMost || (count_ == 0 && !Begin())) return;
  SetProcessors(process, here_, set_size_);
  Add(process);
}

// Releases at once a process whose parent was released in between, or that exceeds the capacity.
void OneProcessor::KeepChild(pid_t process) {
  if (is_off_ || set_size_ == 0 || Find(process) != nullptr) return;
  if (count_ > 0 && count_ < kMost) {
    Add(process);
  } else {
    SetProcessors(process, all_, set_size_);
  }
}

void OneProcessor::Forget(pid_t process) {
  if (Kept* const kept = Find(process)) Remove(kept);
}

void OneProcessor::LetGo(pid_t process) {
  if (Kept* const kept = Find(process)) LetGo(kept);
}

void OneProcessor::LetAllGo() {
  while (count_ > 0)
    LetGo(&kept_[count_ - 1]);
}

void OneProcessor::StopKeeping() {
  LetAllGo();
  is_off_ = true;
}

namespace {

constexpr unsigned long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP |
                                   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                                   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
constexpr int kCallStop = SIGTRAP | 0x80;

// True if the error can be a refusal; otherwise it is an ordinary error.
bool IsRefusal(const TracedCall& call, std::int64_t error) {
  if (call.form == TracedCall::Form::kProcess) return error == EAGAIN;
  if (call.form == TracedCall::Form::kMemory) return error == ENOMEM;
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENODEV:
    case ENXIO:
    case EADDRNOTAVAIL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return false;
  }
}

bool IsStopSignal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

long Tracer::Seize(pid_t process) {
  return kernel::Trace(PTRACE_SEIZE, process, 0, kOptions | PTRACE_O_TRACEEXEC);
}

void Tracer::NoteStarted(pid_t process) {
  kernel::Trace(PTRACE_SETOPTIONS, process, 0, kOptions);
}

// A process killed meanwhile (ESRCH) is seen again when its end is reaped.
bool Tracer::OnStop(pid_t process, int status) {
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  if (event == PTRACE_EVENT_SECCOMP) {
    kernel::Trace(OnCall(process) ? PTRACE_SYSCALL : PTRACE_CONT, process);
  } else if (signal == kCallStop) {
    OnReturn(process);
    kernel::Trace(PTRACE_CONT, process);
  } else if (event == PTRACE_EVENT_STOP && IsStopSignal(signal)) {
    kernel::Trace(PTRACE_LISTEN, process);
  } else if (event == PTRACE_EVENT_EXEC) {
    return true;
  } else {
    if (event == PTRACE_EVENT_STOP) processor_.KeepChild(process);
    const int delivered = event == 0 ? signal : 0;
    if (delivered == SIGXFSZ || delivered == SIGXCPU) OnLimit(process, delivered);
    kernel::Trace(PTRACE_CONT, process, 0, static_cast<unsigned long>(delivered));
  }
  return false;
}

// True if the call's return is worth a look.
bool Tracer::OnCall(pid_t process) {
  kernel::CallInfo info;
  if (!kernel::GetCallInfo(process, &info) || info.op != kernel::CallInfo::kSeccomp ||
      info.seccomp.data >= kTracedCallCount) {
    return false;
  }
  const TracedCall& call = kTracedCalls[info.seccomp.data];
  if (call.form == TracedCall::Form::kProcessors) {
    LetGo(process, call.number, info.seccomp.arguments[0]);
    return false;
  }
  processor_.Keep(process);
  Pending& pending = *PendingOf(process);
  if (pending.process != process || call.kind == ObservationKind::kExec) pending.program_size = 0;
  pending.process = process;
  pending.call = info.seccomp.data;
  std::memcpy(pending.arguments, info.seccomp.arguments, sizeof pending.arguments);
  return true;
}

// Records a limit that the kernel reports by a signal, which ends a process that does not handle
// it.
void Tracer::OnLimit(pid_t process, int signal) {
  char program[kMostProgramName];
  Observations::Seen seen;
  seen.kind = ObservationKind::kOther;
  seen.error = signal == SIGXFSZ ? EFBIG : ETIME;
  seen.call = signal == SIGXFSZ ? "write" : "setrlimit";
  seen.program = {program, ReadProgram(process, program, sizeof program)};
  observations_->Add(seen);
}

// Undoes OneProcessor before a process reads or sets processors, so that it sees no trace of it.
void Tracer::LetGo(pid_t process, int call, std::uint64_t of) {
  if (call == SYS_sched_setaffinity) {
    processor_.StopKeeping();
  } else if (of == 0) {
    processor_.LetGo(process);
  } else {
    processor_.LetAllGo();
  }
}

void Tracer::OnReturn(pid_t process) {
  kernel::CallInfo info;
  if (!kernel::GetCallInfo(process, &info) || info.op != kernel::CallInfo::kExit) return;
  if (info.exit.is_error == 0) return;
  Pending& pending = *PendingOf(process);
  if (pending.process != process) return;
  if (!IsRefusal(kTracedCalls[pending.call], -info.exit.result)) return;
  if (pending.program_size == 0) {
    pending.program_size =
        static_cast<std::uint32_t>(ReadProgram(process, pending.program, sizeof pending.program));
  }
  ObserveCall(process, kTracedCalls[pending.call], pending.arguments,
              {pending.program, pending.program_size}, static_cast<int>(-info.exit.result),
              observations_);
}

namespace {

constexpr std::uint32_t kDumpable = 1;
constexpr std::uint32_t kTraced = 2;

}  // namespace

void TracedStart::Tell(std::uint32_t stage) {
  __atomic_store_n(&stage_, stage, __ATOMIC_RELEASE);
  kernel::Call(SYS_futex, &stage_, FUTEX_WAKE, 1);
}

// Waits in short intervals, as the other side may have ended.
void TracedStart::Await(std::uint32_t stage) {
  constexpr int kMostRounds = 1000;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::uint32_t now = __atomic_load_n(&stage_, __ATOMIC_ACQUIRE);
    if (now >= stage) return;
    const timespec moment{0, 10'000'000};
    kernel::Call(SYS_futex, &stage_, FUTEX_WAIT, now, &moment);
  }
}

void TracedStart::WaitForTracer() {
  kernel::Prctl(PR_SET_DUMPABLE, 1);
  Tell(kDumpable);
  Await(kTraced);
}

long TracedStart::Attach(pid_t process) {
  Await(kDumpable);
  const long result = Tracer::Seize(process);
  Tell(kTraced);
  return result;
}

bool TracedStart::Follow(pid_t process, Tracer* tracer) {
  for (;;) {
    siginfo_t seen{};
    constexpr int kAny = WEXITED | WSTOPPED | __WALL;
    if (kernel::Call(SYS_waitid, P_PID, process, &seen, kAny | WNOWAIT, nullptr) != 0) return false;
    if (seen.si_code != CLD_TRAPPED && seen.si_code != CLD_STOPPED) return false;
    int status = 0;
    if (kernel::Wait(process, &status, __WALL) != process) return false;
    if (!WIFSTOPPED(status)) return false;
    if (!tracer->OnStop(process, status)) continue;
    Tracer::NoteStarted(process);
    kernel::Trace(PTRACE_CONT, process);
    return true;
  }
}

}  // namespace native_runner

#include "launcher/trace/tracer.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "launcher/kernel/trace_calls.h"
#include "launcher/trace/call_arguments.h"
#include "launcher/trace/traced_calls.h"

namespace native_runner {
namespace {

constexpr unsigned long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP |
                                   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                                   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
constexpr int kCallStop = SIGTRAP | 0x80;

// Whether it can be what somebody was refused; else it is an ordinary error.
bool TellsOfRefusal(const TracedCall& call, std::int64_t error) {
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

// Whoever was killed meanwhile (ESRCH) is seen again as an end.
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

// Whether its return is worth a look.
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

// A limit that is told by a signal, which ends whoever has not asked for it.
void Tracer::OnLimit(pid_t process, int signal) {
  char program[kMostProgramName];
  Observations::Seen seen;
  seen.kind = ObservationKind::kOther;
  seen.error = signal == SIGXFSZ ? EFBIG : ETIME;
  seen.call = signal == SIGXFSZ ? "write" : "setrlimit";
  seen.program = {program, ReadProgram(process, program, sizeof program)};
  observations_->Add(seen);
}

// What it sees, or sets, is to be as if nobody traced it.
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
  if (!TellsOfRefusal(kTracedCalls[pending.call], -info.exit.result)) return;
  if (pending.program_size == 0) {
    pending.program_size =
        static_cast<std::uint32_t>(ReadProgram(process, pending.program, sizeof pending.program));
  }
  ObserveCall(process, kTracedCalls[pending.call], pending.arguments,
              {pending.program, pending.program_size}, static_cast<int>(-info.exit.result),
              observations_);
}

}  // namespace native_runner

#include "launcher/command/command.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "launcher/command/exec.h"
#include "launcher/command/terminal.h"
#include "launcher/kernel/calls.h"
#include "launcher/layers/limits.h"
#include "launcher/seccomp/rename_listener.h"
#include "launcher/seccomp/seccomp.h"
#include "launcher/trace/trace_filter.h"
#include "launcher/trace/traced_start.h"

namespace native_runner {
namespace {

constexpr std::size_t kStackBytes =
    32 * 1024;  // Exec() keeps a path on it; only what is used counts

struct Start {
  const MappedOrder* order = nullptr;
  const Landlock* landlock = nullptr;
  bool is_listened_to = false;
  bool is_traced = false;
  StartFailure failure;
  long listener = -1;
  TracedStart traced;
};

constexpr int kFailed = 127;

int Fail(StartFailure* failure, StartFailure::Step step, long result) {
  failure->step = step;
  failure->error = static_cast<int>(-result);
  return kFailed;
}

// In the command's process. The order matters: the filter comes last, so that it need not allow
// what the steps before it call.
int ExecuteCommand(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  const OrderHeader& header = start.order->header;
  StartFailure* failure = &start.failure;

  if (start.is_traced) start.traced.WaitForTracer();
  kernel::SetSignalMask(kernel::kNoSignals);
  // Without a pid namespace, a launcher that is killed takes at least the command along.
  if ((header.flags & kOrderIsInit) == 0) kernel::Prctl(PR_SET_PDEATHSIG, SIGKILL);
  long result = 0;
  if ((header.flags & kOrderOwnSession) != 0) {
    result = EnterSession((header.flags & kOrderTerminal) != 0);
  }
  if (result != 0) return Fail(failure, StartFailure::Step::kSession, result);
  failure->limit = ApplyLimits(header, &result);
  if (failure->limit != nullptr) return Fail(failure, StartFailure::Step::kLimits, result);
  result = start.landlock->Enter();
  if (result != 0) return Fail(failure, StartFailure::Step::kLandlock, result);
  if ((header.flags & kOrderSeccomp) != 0) {
    start.listener = InstallTold(header.flags, start.is_listened_to);
    if (start.listener < 0) result = InstallSeccomp(header.flags);
  }
  if (result != 0) return Fail(failure, StartFailure::Step::kSeccomp, result);
  if (start.is_listened_to && start.listener < 0) {
    start.listener = ListenToRenames();
    if (start.listener < 0) return Fail(failure, StartFailure::Step::kRenames, start.listener);
  }
  if (start.is_traced) result = InstallTraceFilter((header.flags & kOrderLookUps) != 0);
  if (result != 0) return Fail(failure, StartFailure::Step::kTrace, result);
  const ExecFailure exec = Exec(start.order->argv, start.order->environment);
  *failure = {StartFailure::Step::kExec, exec.error, nullptr, exec.not_found};
  return kFailed;
}

// In memory of its own, so that we are not kept waiting until it has executed its program: the
// calls up to there are traced too.
long CloneTraced(Start* start, unsigned long shared, char* stack_end, Tracer* tracer) {
  const long pid = kernel::Clone(SIGCHLD | shared, stack_end, ExecuteCommand, start);
  if (pid < 0) return pid;
  const long result = start->traced.Attach(static_cast<pid_t>(pid));
  if (result != 0) {
    Fail(&start->failure, StartFailure::Step::kTrace, result);
    kernel::Kill(static_cast<pid_t>(pid), SIGKILL);
  } else {
    TracedStart::Follow(static_cast<pid_t>(pid), tracer);
  }
  return pid;
}

// Where both see it.
Start* SharedStart() {
  const long page =
      kernel::Map(sizeof(Start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  if (page < 0) return nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a call's result
  auto* const start = reinterpret_cast<Start*>(page);
  *start = Start();
  return start;
}

}  // namespace

pid_t StartCommand(const MappedOrder& order, const Landlock& landlock, Renames* renames,
                   Refusals* refusals, Tracer* tracer, StartFailure* failure) {
  alignas(16) char stack[kStackBytes];  // NOLINT(cppcoreguidelines-pro-type-member-init): untouched
  Start own;
  Start* const start = tracer == nullptr ? &own : SharedStart();
  if (start == nullptr) {
    Fail(failure, StartFailure::Step::kTrace, -ENOMEM);
    return -1;
  }
  start->order = &order;
  start->landlock = &landlock;
  start->is_listened_to = renames != nullptr;
  start->is_traced = tracer != nullptr;
  // The descriptor by which it is listened to is ours too, until execve(2) gives it a table of its
  // own, and closes it there.
  const bool is_filtered = (order.header.flags & kOrderSeccomp) != 0;
  const unsigned long shared = renames != nullptr || is_filtered ? CLONE_FILES : 0;
  const long pid = tracer == nullptr ? kernel::Clone(CLONE_VM | CLONE_VFORK | SIGCHLD | shared,
                                                     stack + sizeof stack, ExecuteCommand, start)
                                     : CloneTraced(start, shared, stack + sizeof stack, tracer);
  if (pid < 0) {
    Fail(failure, StartFailure::Step::kProcess, pid);
    return -1;
  }
  *failure = start->failure;
  if (failure->step == StartFailure::Step::kNone) {
    const auto listener = static_cast<int>(start->listener);
    if (renames != nullptr) {
      renames->Listen(listener);
    } else if (listener >= 0) {
      refusals->Listen(listener);
    }
    return static_cast<pid_t>(pid);
  }
  if (start->listener >= 0) kernel::Close(static_cast<int>(start->listener));
  kernel::Wait(static_cast<pid_t>(pid), nullptr, __WALL);
  return -1;
}

}  // namespace native_runner

#include "launcher/session.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "launcher/command/run_command.h"
#include "launcher/kernel/calls.h"
#include "launcher/kernel/proc_file.h"
#include "launcher/order/lease_timer.h"
#include "launcher/order/take_order.h"
#include "launcher/renames/directory_move.h"
#include "launcher/seccomp/seccomp.h"
#include "launcher/tree/children.h"
#include "launcher/tree/tree.h"
#include "launcher/tree/usage.h"

namespace native_runner {
namespace {

// Of which only what is used is ever there.
constexpr std::size_t kStackBytes = kMoveStackBytes + 128 * 1024;
constexpr pid_t kNoCommand = -1;

struct CommandStart {
  CommandDescriptors descriptors;
  const Landlock* landlock = nullptr;
  const OverlayRenames* overlay = nullptr;
  LayerSet enforced;
};

// Those that came have higher numbers: the lower ones are all taken.
long InstallDescriptors(const CommandDescriptors& descriptors) {
  const int* const from = descriptors.at;
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    const long result = kernel::Duplicate(from[1 + number], number);
    if (result < 0) return result;
  }
  const long result = kernel::Duplicate(from[0], kControlDescriptor);
  if (result < 0) return result;
  kernel::SetCloseOnExec(kControlDescriptor);
  // Held here they would keep a pipe open that the command has closed.
  for (const int descriptor : descriptors.at)
    kernel::Close(descriptor);
  return 0;
}

int RunCommandLauncher(void* argument) {
  const CommandStart& start = *static_cast<CommandStart*>(argument);
  if (const long result = InstallDescriptors(start.descriptors); result < 0) {
    RefuseCommand(start.descriptors.at[0], "cannot place a descriptor", result);
    return 0;
  }
  Control control;
  MappedOrder order;
  ReceivedOrder received;
  if (!TakeOrder(control, &received, &order)) return 0;
  Refusal refusal;
  const long result = kernel::Prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (result != 0) refusal.Because(Layer::kTreeKillSubreaper, result);
  LeaseTimer lease;
  if (result != 0 || !EnterDirectory(order.cwd, &refusal) ||
      !PrepareStreams(control, order.header, &refusal) || !lease.Begin(order.header, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  if (control.SendReady(start.enforced))
    RunCommand(control, order, *start.landlock, *start.overlay, lease);
  return 0;
}

// Where no process can be had, the host hears so on the command's own socket.
void StartCommandLauncher(CommandStart* start) {
  alignas(16) static char stack[kStackBytes];  // each child has its own copy
  const long pid = kernel::Clone(SIGCHLD, stack + sizeof stack, RunCommandLauncher, start);
  if (pid < 0) RefuseCommand(start->descriptors.at[0], "cannot start a process", pid);
  for (const int descriptor : start->descriptors.at)
    kernel::Close(descriptor);
}

void WaitForMessageOrChild(int child_signal) {
  pollfd descriptors[] = {{kControlDescriptor, POLLIN, 0}, {child_signal, POLLIN, 0}};
  kernel::Poll(descriptors, 2, nullptr);
}

}  // namespace

bool PrepareSession(const OrderHeader& order, Refusal* refusal) {
  if (!IsProcOurs()) {
    return refusal->Because("a session needs a /proc that shows its own processes");
  }
  if ((order.flags & kOrderSeccomp) == 0) return true;
  const long result = InstallSeccomp(order.flags);
  return result == 0 || refusal->Because(Layer::kSeccomp, result);
}

void ServeSession(const Control& control, const MappedOrder& session, const Landlock& landlock,
                  const OverlayRenames& overlay, LayerSet enforced) {
  const bool is_init = (session.header.flags & kOrderIsInit) != 0;
  Children children(kNoCommand);
  enforced.Remove(Layer::kPidNamespace);
  CommandStart start{{}, &landlock, &overlay, enforced};
  for (bool goes_on = children.signal_descriptor() >= 0; goes_on;) {
    WaitForMessageOrChild(children.signal_descriptor());
    children.Reap();
    switch (control.ReceiveCommand(&start.descriptors)) {
      case Control::SessionMessage::kNothing:
        break;
      case Control::SessionMessage::kCommand:
        StartCommandLauncher(&start);
        break;
      case Control::SessionMessage::kEnd:
        goes_on = false;
    }
  }
  Report report;
  report.kind = ReportKind::kExited;
  report.error = KillTree(is_init, &children) ? 0 : EBUSY;
  AddUsage(&report);
  control.SendLast(report);
}

}  // namespace native_runner

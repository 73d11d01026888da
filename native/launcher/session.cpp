#include "launcher/session.h"

#include <sys/prctl.h>

#include <cerrno>
#include <csignal>

#include "launcher/children.h"
#include "launcher/kernel/calls.h"
#include "launcher/proc_file.h"
#include "launcher/run_command.h"
#include "launcher/seccomp.h"
#include "launcher/take_order.h"
#include "launcher/tree.h"
#include "launcher/usage.h"

namespace native_runner {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;  // of which only what is used is ever there
constexpr pid_t kNoCommand = -1;

struct Entry {
  CommandDescriptors descriptors;
  const Landlock* landlock;
  std::uint32_t enforced;
};

// Those that came have numbers above the places: ours are all taken.
bool TakePlaces(const CommandDescriptors& came) {
  const int* const from = came.descriptors;
  for (int place = STDIN_FILENO; place <= STDERR_FILENO; ++place) {
    if (kernel::Duplicate(from[1 + place], place) < 0) return false;
  }
  if (kernel::Duplicate(from[0], kControlDescriptor) < 0) return false;
  kernel::SetCloseOnExec(kControlDescriptor);
  if (came.count > kStateAt) {
    const int state = from[kStateAt];
    const long result = state == kStateDescriptor ? kernel::KeepOnExec(state)
                                                  : kernel::Duplicate(state, kStateDescriptor);
    if (result < 0) return false;
  }
  // Held here they would keep a pipe open that the command has closed.
  for (std::size_t i = 0; i < came.count; ++i) {
    if (from[i] != kStateDescriptor) kernel::Close(from[i]);
  }
  return true;
}

int RunEntered(void* argument) {
  const Entry& entry = *static_cast<Entry*>(argument);
  if (!TakePlaces(entry.descriptors)) return 1;
  const Control control;
  MappedOrder order;
  ReceivedOrder received;
  if (!TakeOrder(control, &received, &order)) return 0;
  Refusal refusal;
  const long result = kernel::Control(PR_SET_CHILD_SUBREAPER, 1);
  if (result != 0) refusal.Because("tree-kill:subreaper", result);
  if (result != 0 || !EnterDirectory(order.cwd, &refusal) ||
      !PrepareTerminal(control, order.header, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  if (control.SendReady(entry.enforced)) RunCommand(control, order, *entry.landlock);
  return 0;
}

// Where no process can be had, the host hears so on the command's own socket.
void Start(Entry* entry) {
  alignas(16) static char stack[kStackBytes];  // each child has its own copy
  const long pid = kernel::Clone(SIGCHLD, stack + sizeof stack, RunEntered, entry);
  if (pid < 0) RefuseCommand(entry->descriptors.descriptors[0], "cannot start a process", pid);
  for (std::size_t i = 0; i < entry->descriptors.count; ++i)
    kernel::Close(entry->descriptors.descriptors[i]);
}

void WaitForNews(int child_signal) {
  pollfd descriptors[] = {{kControlDescriptor, POLLIN, 0}, {child_signal, POLLIN, 0}};
  kernel::Poll(descriptors, 2, nullptr);
}

}  // namespace

bool PrepareSession(const OrderHeader& order, Refusal* refusal) {
  if (!IsProcOurs()) {
    return refusal->Because("a session needs a /proc that shows its own processes");
  }
  if ((order.flags & kOrderSeccomp) == 0) return true;
  const long result = InstallSeccomp((order.flags & kOrderNoSockets) != 0);
  return result == 0 || refusal->Because("seccomp", result);
}

void ServeSession(const Control& control, const MappedOrder& session, const Landlock& landlock,
                  std::uint32_t enforced) {
  const bool is_init = (session.header.flags & kOrderIsInit) != 0;
  Children children(kNoCommand);
  Entry entry{{}, &landlock, enforced & ~std::uint32_t{kEnforcedOwnInit}};
  for (bool goes_on = children.signal_descriptor() >= 0; goes_on;) {
    WaitForNews(children.signal_descriptor());
    children.Reap();
    switch (control.ReceiveCommand(&entry.descriptors)) {
      case Control::Told::kNothing:
        break;
      case Control::Told::kCommand:
        Start(&entry);
        break;
      case Control::Told::kEnd:
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

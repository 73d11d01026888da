// The launcher: starts inside the sandbox, takes one order from the host, checks and adds layers,
// runs the command, and reports how it ended and what it used once nothing of its tree is left.
// One thread, no heap, no C library (kernel/calls.h); all it says goes over the control socket.

#include <sys/prctl.h>

#include <cerrno>

#include "launcher/children.h"
#include "launcher/command.h"
#include "launcher/control.h"
#include "launcher/descriptors.h"
#include "launcher/files.h"
#include "launcher/kernel/calls.h"
#include "launcher/landlock.h"
#include "launcher/layers.h"
#include "launcher/mapped_order.h"
#include "launcher/pid_namespace.h"
#include "launcher/signals.h"
#include "launcher/start_failure.h"
#include "launcher/tree.h"
#include "launcher/usage.h"

namespace native_runner {
namespace {

// First of all: no command, of whatever user, may look into us, take our descriptors or write to
// our executable by way of /proc/1 (CVE-2019-5736).
void Hide() {
  kernel::Control(PR_SET_DUMPABLE, 0);
  kernel::Control(PR_SET_NAME, reinterpret_cast<unsigned long>("launcher"));
}

bool EnterDirectory(const char* cwd, Refusal* refusal) {
  if (*cwd == '\0') return true;
  const long result = kernel::ChangeDirectory(cwd);
  if (result == 0) return true;
  refusal->text.Add("cannot enter ");
  return refusal->Because(cwd, result);
}

// Returns when the command has ended, or when the host wants an end or is gone itself.
void Watch(const Control& control, Children* children) {
  while (!children->command_ended()) {
    const Control::Wake wake = control.Wait(children->signal_descriptor());
    children->Reap();
    if (wake == Control::Wake::kEnd) return;
  }
}

void Run(const Control& control, const MappedOrder& order, const Landlock& landlock) {
  StartFailure failure;
  const pid_t command = StartCommand(order, landlock, &failure);
  if (command < 0) return ReportStartFailure(control, order.argv[0], failure);

  Children children(command);
  Watch(control, &children);
  const bool is_init = (order.header.flags & kOrderIsInit) != 0;
  const bool all_gone = KillTree(is_init, &children);

  Report report;
  report.kind = ReportKind::kExited;
  report.error = all_gone ? 0 : EBUSY;
  report.wait_status = children.command_status();
  AddUsage(&report);
  control.SendLast(report);
}

// From the order on: in the process that will be the command's parent.
int Carry(MappedOrder& order) {
  const Control control;
  Refusal refusal;
  Landlock landlock;
  const std::uint32_t flags = order.header.flags;
  const bool with_landlock = (flags & kOrderLandlock) != 0;
  if (!EnterLayers(order.header, &refusal) || !CheckFiles(order, &refusal) ||
      !EnterDirectory(order.cwd, &refusal) ||
      (with_landlock && !landlock.Prepare(order, &refusal))) {
    control.SendRefused(refusal);
    return 0;
  }
  std::uint32_t enforced = landlock.enforced();
  if ((flags & kOrderIsInit) != 0) enforced |= kEnforcedOwnInit;
  const std::uint32_t missing = order.header.required & ~enforced;
  if (missing != 0) {
    refusal.Because(EnforcedLayerName(missing));
    refusal.Because(": required, but this kernel can't enforce it");
    control.SendRefused(refusal);
    return 0;
  }
  if (control.SendReady(enforced)) Run(control, order, landlock);
  return 0;
}

int Main() {
  Hide();
  PrepareSignals();
  CloseInheritedDescriptors();

  const Control control;
  Refusal refusal;
  MappedOrder order;
  ReceivedOrder received;
  switch (control.ReceiveOrder(&received)) {
    case Control::Received::kHostGone:
      return 0;
    case Control::Received::kNonsense:
      refusal.Because("the launcher was sent something else than an order", -EPROTO);
      control.SendRefused(refusal);
      return 1;
    case Control::Received::kOrder:
      break;
  }
  if (!MapOrder(received, &order, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  const bool makes_init = (order.header.flags & kOrderMakeInit) != 0;
  return makes_init && RunAsInit(order, Carry) ? 0 : Carry(order);
}

}  // namespace
}  // namespace native_runner

int main() {
  return native_runner::Main();
}

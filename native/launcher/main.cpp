// The launcher: starts inside the sandbox, takes one order from the host, checks and adds layers,
// runs the command, and reports how it ended and what it used once nothing of its tree is left.
// In its other role it makes namespaces, furnishes and enters them (protocol/step.h). One thread,
// no heap, no C library (kernel/calls.h); all it says goes over the control socket.

#include <sys/prctl.h>

#include <cerrno>

#include "launcher/clone/template.h"
#include "launcher/command/run_command.h"
#include "launcher/kernel/calls.h"
#include "launcher/kernel/descriptors.h"
#include "launcher/kernel/signals.h"
#include "launcher/layers/files.h"
#include "launcher/layers/landlock.h"
#include "launcher/layers/layers.h"
#include "launcher/layers/pid_namespace.h"
#include "launcher/namespaces/steps.h"
#include "launcher/order/control.h"
#include "launcher/order/lease_timer.h"
#include "launcher/order/mapped_order.h"
#include "launcher/order/take_order.h"
#include "launcher/renames/renames.h"
#include "launcher/session.h"

namespace native_runner {
namespace {

// First of all: no command, of whatever user, may look into us, take our descriptors or write to
// our executable by way of /proc/1 (CVE-2019-5736).
void MakeUndumpable() {
  kernel::Prctl(PR_SET_DUMPABLE, 0);
  kernel::Prctl(PR_SET_NAME, reinterpret_cast<unsigned long>("launcher"));
}

bool CheckRequired(LayerSet required, LayerSet enforced, Refusal* refusal) {
  for (const Layer layer : kLayersOfLauncher) {
    if (required.Has(layer) && !enforced.Has(layer)) {
      return refusal->Because(layer, "required, but this kernel can't enforce it");
    }
  }
  return true;
}

// The command could stop us (SIGSTOP), and with us the timer of its lease: we are not process 1 of
// its pid namespace. Without no_new_privs it can't be kept from it (Landlock::Enter).
bool MayBeStopped(const OrderHeader& order) {
  return order.lease_until_ns != kNoLease && (order.flags & kOrderIsInit) == 0 &&
         (order.flags & kOrderNoNewPrivs) != 0;
}

// From the order on: in the process that will be the command's parent.
int EnterLayersAndRun(Control& control, MappedOrder& order) {
  Refusal refusal;
  Landlock landlock;
  OverlayRenames overlay;
  LeaseTimer lease;
  const std::uint32_t flags = order.header.flags;
  const bool with_landlock = (flags & kOrderLandlock) != 0;
  const bool is_session = (flags & kOrderSession) != 0;
  const bool with_separation = is_session || MayBeStopped(order.header);
  if (!EnterLayers(order.header, &refusal) || !CheckFiles(order, &refusal) ||
      !EnterDirectory(order.cwd, &refusal) || !overlay.Prepare(order, &refusal) ||
      (with_landlock && !landlock.Prepare(order, &refusal)) ||
      (with_separation && !with_landlock && !landlock.PrepareSeparation(&refusal)) ||
      (is_session && !PrepareSession(order.header, &refusal)) ||
      !lease.Begin(order.header, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  LayerSet enforced = landlock.enforced();
  if (overlay.is_there()) enforced.Add(Layer::kRenameDirectories);
  if ((flags & kOrderIsInit) != 0) enforced.Add(Layer::kPidNamespace);
  if (!CheckRequired(order.header.required, enforced, &refusal) ||
      !PrepareStreams(control, order.header, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  if (!control.SendReady(enforced)) return 0;
  if (is_session) {
    ServeSession(control, order, landlock, overlay, enforced);
  } else {
    RunCommand(control, order, landlock, overlay, lease);
  }
  return 0;
}

// The other role (protocol/step.h), on the host and without a command: what it was started with is
// for the program that it may execute.
int RunSteps() {
  Control control;
  MappedOrder order;
  ReceivedOrder received;
  if (!TakeOrder(control, &received, &order)) return 0;
  Refusal refusal;
  if ((order.header.flags & kOrderNamespaces) != 0) {
    TakeSteps(control, order);
  } else {
    refusal.Because("a command's order came to a maker of namespaces", -EPROTO);
    control.SendRefused(refusal);
  }
  return 0;
}

int RefuseRole(const Control& control, const char* what) {
  Refusal refusal;
  refusal.Because(what, -EPROTO);
  control.SendRefused(refusal);
  return 0;
}

int RunInClone(Control& control) {
  MappedOrder order;
  ReceivedOrder received;
  if (!TakeOrder(control, &received, &order)) return 0;
  if ((order.header.flags & (kOrderNamespaces | kOrderTemplate)) != 0)
    return RefuseRole(control, "another role's order came to a clone's launcher");
  return EnterLayersAndRun(control, order);
}

// As process 1 of a pid namespace that was made for it: a new voice, whose pidfd the host has not.
int RunAsInit(MappedOrder& order) {
  Control control;
  return EnterLayersAndRun(control, order);
}

int RunOrder() {
  MakeUndumpable();
  PrepareSignals();
  CloseInheritedDescriptors();

  Control control;
  MappedOrder order;
  ReceivedOrder received;
  if (!TakeOrder(control, &received, &order)) return 0;
  if ((order.header.flags & kOrderNamespaces) != 0)
    return RefuseRole(control, "a maker of namespaces' order came to a command's launcher");
  if ((order.header.flags & kOrderTemplate) != 0) {
    ServeTemplate(control, order, RunInClone);
    return 0;
  }
  const bool makes_init = (order.header.flags & kOrderMakeInit) != 0;
  return makes_init && RunInPidNamespace(order, RunAsInit) ? 0 : RunAsInit(order);
}

}  // namespace
}  // namespace native_runner

// `arguments`: how many, our own name included (runtime/start.cpp).
extern "C" int LauncherMain(long arguments);

extern "C" int LauncherMain(long arguments) {
  return arguments > 1 ? native_runner::RunSteps() : native_runner::RunOrder();
}

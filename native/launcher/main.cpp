// The launcher: starts inside the sandbox, takes one order from the host, checks and adds layers,
// runs the command, and reports its exit and resource usage once nothing of its tree remains. In
// its other role it makes, prepares and enters namespaces (protocol/order.h). One thread, no heap,
// no C library (kernel/calls.h); all its output goes over the control socket.

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>

#include "launcher/command/command.h"
#include "launcher/command/renames.h"
#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/layers/layers.h"
#include "launcher/namespaces/namespaces.h"
#include "launcher/namespaces/template.h"
#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"

namespace native_runner {

namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr int kNothingDone = 77;  // not an exit code of `inside`

struct Entry {
  MappedOrder* order;
  int (*inside)(MappedOrder&);
  bool maps_user;
  bool is_session;
  long uid;
  long gid;
};

// Makes the process dumpable for the mapping, as root owns the files of one that is not (proc(5)).
// No command runs yet that could make use of it.
bool MapUserAsDumpable(const Entry& entry) {
  kernel::Prctl(PR_SET_DUMPABLE, 1);
  const bool is_mapped = MapUser(entry.uid, entry.gid);
  kernel::Prctl(PR_SET_DUMPABLE, 0);
  return is_mapped;
}

// Mounts a /proc of the new pid namespace, in which a session finds its commands' processes
// (children.h); the inherited one is that of the outer pid namespace. Mounts that the host makes
// later appear inside, but not the reverse. Fails in a container that hides parts of its /proc,
// where no other may be mounted.
bool MountOwnProc() {
  return kernel::Mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE) == 0 &&
         kernel::Mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC) == 0;
}

int Enter(void* argument) {
  const Entry& entry = *static_cast<Entry*>(argument);
  kernel::Prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (entry.maps_user && !MapUserAsDumpable(entry)) return kNothingDone;
  if (entry.is_session && !MountOwnProc()) return kNothingDone;
  entry.order->header.flags |= kOrderIsInit;
  return entry.inside(*entry.order);
}

// Runs `inside` as pid 1 of a new pid (and IPC) namespace, so that the kernel ends the run. Uid 0
// needs nothing else; any other user gets a user namespace with it, in which the user's ids stay
// the same. Returns true if `inside` ran and has ended; false if nothing was done, because no such
// namespace, or none with the /proc that a session needs, may be made here.
bool RunInPidNamespace(MappedOrder& order, int (*inside)(MappedOrder&)) {
  alignas(16) static char stack[kStackBytes];
  const bool is_session = (order.header.flags & kOrderSession) != 0;
  Entry entry{
      &order, inside, false, is_session, kernel::Call(SYS_geteuid), kernel::Call(SYS_getegid)};
  entry.maps_user = entry.uid != 0;
  unsigned long flags = CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD;
  if (is_session) flags |= CLONE_NEWNS;
  if (entry.maps_user) flags |= CLONE_NEWUSER;
  // Descriptors that `inside` closes (CloseInput()) must not stay open here.
  if ((order.header.flags & kOrderOwnSession) != 0) flags |= CLONE_FILES;
  const long pid = kernel::Clone(flags, stack + sizeof stack, Enter, &entry);
  if (pid < 0) return false;
  int status = 0;
  kernel::Wait(static_cast<pid_t>(pid), &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == kNothingDone);
}

// Runs first: no command, of whatever user, may read the launcher's memory, take its descriptors or
// write to its executable through /proc/1 (CVE-2019-5736).
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

// True if the command could stop the launcher (SIGSTOP), and with it the timer of its lease: the
// launcher is not process 1 of the command's pid namespace. False without no_new_privs, where
// Landlock::Enter() can't prevent it.
bool MayBeStopped(const OrderHeader& order) {
  return order.lease_until_ns != kNoLease && (order.flags & kOrderIsInit) == 0 &&
         (order.flags & kOrderNoNewPrivs) != 0;
}

// Enters the layers and runs the order, in the process that becomes the command's parent.
int EnterLayersAndRun(HostChannel& control, MappedOrder& order) {
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
      (with_separation && !with_landlock && !landlock.PrepareSeparation(order.header, &refusal)) ||
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

// The other role (protocol/order.h), on the host and without a command. Leaves inherited
// descriptors and signals alone: they are for the program that it may execute.
int RunSteps() {
  HostChannel control;
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

int RefuseRole(const HostChannel& control, const char* what) {
  Refusal refusal;
  refusal.Because(what, -EPROTO);
  control.SendRefused(refusal);
  return 0;
}

int RunInClone(HostChannel& control) {
  MappedOrder order;
  ReceivedOrder received;
  if (!TakeOrder(control, &received, &order)) return 0;
  if ((order.header.flags & (kOrderNamespaces | kOrderTemplate)) != 0)
    return RefuseRole(control, "another role's order came to a clone's launcher");
  return EnterLayersAndRun(control, order);
}

// Runs as process 1 of a pid namespace made for it: needs a new HostChannel, as the host has no
// pidfd of it.
int RunAsInit(MappedOrder& order) {
  HostChannel control;
  return EnterLayersAndRun(control, order);
}

int RunOrder() {
  MakeUndumpable();
  PrepareSignals();
  CloseInheritedDescriptors();

  HostChannel control;
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

// `arguments`: their number, the program's own name included (runtime.cpp).
extern "C" int LauncherMain(long arguments);

extern "C" int LauncherMain(long arguments) {
  return arguments > 1 ? native_runner::RunSteps() : native_runner::RunOrder();
}

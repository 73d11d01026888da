#include "launcher/clone/template.h"

#include <sys/mount.h>
#include <unistd.h>

#include "launcher/clone/clone_request.h"
#include "launcher/clone/clone_steps.h"
#include "launcher/kernel/calls.h"
#include "launcher/kernel/descriptors.h"
#include "launcher/kernel/proc_file.h"

namespace native_runner {
namespace {

constexpr unsigned long kProcMountFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

// The topmost mount there, not its file system.
long MakeReadOnly(const char* proc) {
  return kernel::Mount(nullptr, proc, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kProcMountFlags);
}

// A proc(5) that can be written: for the ids and the limits of user namespaces. For the kernel to
// let a clone mount one of its own, some proc of which nothing is covered has to be in sight
// (mount_too_revealing() in fs/namespace.c). bwrap covers parts of it for root, who has commands
// write to none: bwrap's and ours are made read-only, and the one that can be written has no path.
// -errno: it can't be had.
int PrepareProc(const CloneSteps& steps) {
  if (!steps.is_proc_read_only) return kernel::Open(steps.proc, O_PATH | O_DIRECTORY);
  if (const long result = MakeReadOnly(steps.proc); result != 0) return static_cast<int>(result);
  if (const long result = kernel::Mount("proc", steps.proc, "proc", kProcMountFlags); result != 0)
    return static_cast<int>(result);
  const int proc = kernel::CloneMount(steps.proc);
  if (proc < 0) return proc;
  const long result = MakeReadOnly(steps.proc);
  return result == 0 ? proc : static_cast<int>(result);
}

// Those that came have higher numbers: the lower ones are all taken.
long TakeTheirPlaces(const AskedClone& asked) {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    const long result = kernel::Duplicate(asked.at[1 + number], number);
    if (result < 0) return result;
  }
  return kernel::Duplicate(asked.at[0], kControlDescriptor);
}

int BeClone(const CloneSteps& steps, const AskedClone& asked, int proc, int (*run)(Control&)) {
  if (const long result = TakeTheirPlaces(asked); result < 0) {
    RefuseClone(asked.at[0], "cannot place a descriptor", result);
    return 0;
  }
  kernel::SetDefaultAction(SIGCHLD);
  Control control(true);
  Refusal refusal;
  refusal.no_clone = true;
  if (!TakeCloneSteps(steps, asked.request, proc, control, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  CloseInheritedDescriptors();
  return run(control);
}

}  // namespace

void ServeTemplate(Control& control, const MappedOrder& order, int (*run)(Control&)) {
  Refusal refusal;
  CloneSteps steps;
  if (!ReadCloneSteps(order.rules, &steps, &refusal)) return control.SendRefused(refusal);
  if (kernel::ProcessId() != 1 || !IsProcOurs()) {
    refusal.Because(Layer::kPidNamespace, "a template is process 1 and sees its own /proc");
    return control.SendRefused(refusal);
  }
  const int proc = PrepareProc(steps);
  if (proc < 0) {
    refusal.Because("a template's /proc", proc);
    return control.SendRefused(refusal);
  }
  kernel::LeaveNoZombies();
  if (!control.SendReady({})) return;
  for (AskedClone asked; ReceiveClone(&asked) == NextClone::kAsked; asked.Close()) {
    // The dear part is done in the new process, beside its siblings.
    const long pid = kernel::Fork(CLONE_NEWUSER | CLONE_NEWPID, asked.cgroup);
    if (pid == 0) kernel::Exit(BeClone(steps, asked, proc, run));
    if (pid < 0) RefuseClone(asked.at[0], "cannot clone a sandbox", pid);
  }
}

}  // namespace native_runner

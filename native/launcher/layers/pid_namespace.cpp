#include "launcher/layers/pid_namespace.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/user_map.h"

namespace native_runner {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr int kNothingDone = 77;  // no exit code of `inside`

struct Entry {
  MappedOrder* order;
  int (*inside)(MappedOrder&);
  bool maps_user;
  bool is_session;
  long uid;
  long gid;
};

// The files of a process that is not dumpable are root's (proc(5)), so for this it is; no command
// runs yet that could make use of it.
bool MapUserAsDumpable(const Entry& entry) {
  kernel::Prctl(PR_SET_DUMPABLE, 1);
  const bool is_mapped = MapUser(entry.uid, entry.gid);
  kernel::Prctl(PR_SET_DUMPABLE, 0);
  return is_mapped;
}

// A session finds its commands' processes in /proc (tree.h), which here is still that of the pid
// namespace outside. What the host mounts later is to show inside, and nothing the other way. In a
// container that hides parts of its /proc no other may be mounted.
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

}  // namespace

bool RunInPidNamespace(MappedOrder& order, int (*inside)(MappedOrder&)) {
  alignas(16) static char stack[kStackBytes];
  const bool is_session = (order.header.flags & kOrderSession) != 0;
  Entry entry{
      &order, inside, false, is_session, kernel::Call(SYS_geteuid), kernel::Call(SYS_getegid)};
  entry.maps_user = entry.uid != 0;
  unsigned long flags = CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD;
  if (is_session) flags |= CLONE_NEWNS;
  if (entry.maps_user) flags |= CLONE_NEWUSER;
  // What `inside` closes (CloseInput) is not to stay open here.
  if ((order.header.flags & kOrderOwnSession) != 0) flags |= CLONE_FILES;
  const long pid = kernel::Clone(flags, stack + sizeof stack, Enter, &entry);
  if (pid < 0) return false;
  int status = 0;
  kernel::Wait(static_cast<pid_t>(pid), &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == kNothingDone);
}

}  // namespace native_runner

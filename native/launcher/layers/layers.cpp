#include "launcher/layers/layers.h"

#include <sys/prctl.h>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/proc_file.h"
#include "launcher/layers/capabilities.h"
#include "launcher/layers/mounts.h"
#include "launcher/layers/namespaces.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

bool CheckInit(Refusal* refusal) {
  if (kernel::ProcessId() == 1) return true;
  return refusal->Because(Layer::kPidNamespace, "the launcher is not process 1 of its own");
}

// From here on orphans of the command become our children. The end of the host is seen by end of
// file on the control socket: a parent-death signal would kill us before we have killed the tree.
bool BecomeSubreaper(Refusal* refusal) {
  kernel::Prctl(PR_SET_PDEATHSIG, 0);
  const long result = kernel::Prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (result != 0) return refusal->Because(Layer::kTreeKillSubreaper, result);
  if (IsProcOurs()) return true;
  return refusal->Because(Layer::kTreeKillSubreaper, "/proc does not show our processes");
}

bool SetNoNewPrivs(Refusal* refusal) {
  const long result = kernel::Prctl(PR_SET_NO_NEW_PRIVS, 1);
  if (result != 0) return refusal->Because(Layer::kNoNewPrivs, result);
  return kernel::Prctl(PR_GET_NO_NEW_PRIVS) == 1 ||
         refusal->Because(Layer::kNoNewPrivs, "not in force");
}

}  // namespace

bool EnterLayers(const OrderHeader& order, Refusal* refusal) {
  const std::uint32_t flags = order.flags;
  const bool is_init = (flags & kOrderIsInit) != 0;
  if (!(is_init ? CheckInit(refusal) : BecomeSubreaper(refusal))) return false;
  if (!CheckNamespaces(order, refusal)) return false;
  if ((flags & kOrderOwnMounts) != 0 && !CheckMountsAreOwn(refusal)) return false;
  if ((flags & kOrderDropCapabilities) != 0) DropCapabilities();
  if ((flags & kOrderNoCapabilities) != 0 && !CheckNoCapabilities(refusal)) return false;
  return (flags & kOrderNoNewPrivs) == 0 || SetNoNewPrivs(refusal);
}

}  // namespace native_runner

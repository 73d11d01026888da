#include "launcher/namespaces/user.h"

#include "launcher/kernel/calls.h"
#include "launcher/kernel/user_map.h"

namespace native_runner {

bool EnterUserNamespace(unsigned long kinds, Layer layer, Refusal* refusal) {
  const long uid = kernel::Call(SYS_geteuid);
  const long gid = kernel::Call(SYS_getegid);
  const long result = kernel::Unshare(CLONE_NEWUSER | kinds);
  if (result != 0) return refusal->Because(layer, result);
  return MapUser(uid, gid) || refusal->Because(Layer::kUserNamespace, "its ids can't be set");
}

}  // namespace native_runner

#include "launcher/layers/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

struct Sets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
};

}  // namespace

void DropCapabilities() {
  // Needs CAP_SETPCAP; without it there is nothing that a command with no_new_privs could regain.
  unsigned long capability = 0;
  while (kernel::Prctl(PR_CAPBSET_DROP, capability) == 0)
    ++capability;
  kernel::Prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
  Sets none;
  kernel::Call(SYS_capset, &none.header, none.data);
}

bool CheckNoCapabilities(Refusal* refusal) {
  Sets sets;
  const long result = kernel::Call(SYS_capget, &sets.header, sets.data);
  if (result != 0) return refusal->Because(Layer::kNoCapabilities, result);
  for (const auto& set : sets.data) {
    if ((set.effective | set.permitted | set.inheritable) != 0) {
      return refusal->Because(Layer::kNoCapabilities, "some are left");
    }
  }
  return true;
}

}  // namespace native_runner

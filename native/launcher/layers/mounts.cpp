#include "launcher/layers/mounts.h"

#include <fcntl.h>

#include "launcher/kernel/calls.h"
#include "protocol/shared_mounts.h"

namespace native_runner {

bool CheckMountsAreOwn(Refusal* refusal) {
  const int table = kernel::Open("/proc/self/mountinfo", O_RDONLY);
  char text[4096] = {};
  SharedMounts shared;
  long got = table < 0 ? table : kernel::Read(table, text, sizeof text);
  for (; got > 0; got = kernel::Read(table, text, sizeof text))
    shared.Take(text, static_cast<std::size_t>(got));
  if (table >= 0) kernel::Close(table);
  refusal->shared_mounts = got != 0 || shared.found();
  return !refusal->shared_mounts ||
         refusal->Because(Layer::kMountNamespace, "a mount is shared with the host");
}

}  // namespace native_runner

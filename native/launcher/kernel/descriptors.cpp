#include "launcher/kernel/descriptors.h"

#include <climits>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/proc_file.h"
#include "protocol/report.h"

namespace native_runner {
namespace {

constexpr int kFirstExtra = kControlDescriptor + 1;

// Where close_range(2) is missing (before Linux 5.9), /proc knows what is open; without /proc every
// number that the limit allows is tried.
void CloseOneByOne() {
  ProcDirectory directory("/proc/self/fd");
  if (!directory.ok()) {
    rlimit limit{};
    kernel::SetLimit(RLIMIT_NOFILE, nullptr, &limit);
    for (std::uint64_t fd = kFirstExtra; fd < limit.rlim_max && fd <= INT_MAX; ++fd) {
      kernel::Close(static_cast<int>(fd));
    }
    return;
  }
  for (int fd = 0; directory.NextNumber(&fd);) {
    if (fd >= kFirstExtra && fd != directory.descriptor()) kernel::Close(fd);
  }
}

}  // namespace

void CloseInheritedDescriptors() {
  if (kernel::CloseRange(kFirstExtra, UINT_MAX) != 0) CloseOneByOne();
  kernel::SetCloseOnExec(kControlDescriptor);
}

}  // namespace native_runner

#include "launcher/kernel/signals.h"

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

constexpr int kLastStandardSignal = 31;

}  // namespace

void PrepareSignals() {
  kernel::SetSignalMask(kernel::kAllSignals);
  for (int signal = 1; signal <= kLastStandardSignal; ++signal) {
    kernel::SetDefaultAction(signal);
  }
}

}  // namespace native_runner

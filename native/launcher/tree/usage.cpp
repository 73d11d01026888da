#include "launcher/tree/usage.h"

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

std::uint64_t Microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

void AddUsage(Report* report) {
  rusage usage{};
  kernel::GetChildrenUsage(&usage);
  report->user_cpu_us = Microseconds(usage.ru_utime);
  report->system_cpu_us = Microseconds(usage.ru_stime);
  report->peak_memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // in KiB
}

}  // namespace native_runner

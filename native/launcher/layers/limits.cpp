#include "launcher/layers/limits.h"

#include <algorithm>
#include <cstdint>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

long Apply(int resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit limit{};
  kernel::SetLimit(resource, nullptr, &limit);
  limit.rlim_max = std::min<std::uint64_t>(hard, limit.rlim_max);  // to raise it may not be ours
  limit.rlim_cur = std::min<std::uint64_t>(soft, limit.rlim_max);
  return kernel::SetLimit(resource, &limit, nullptr);
}

}  // namespace

const char* ApplyLimits(const OrderHeader& order, long* result) {
  struct Row {
    const char* name;
    int resource;
    std::uint64_t value;
    std::uint64_t grace;
  };
  const Row rows[] = {
      {"RLIMIT_DATA", RLIMIT_DATA, order.data_bytes, 0},
      {"RLIMIT_CPU", RLIMIT_CPU, order.cpu_seconds, 1},
      {"RLIMIT_NPROC", RLIMIT_NPROC, order.processes, 0},
      {"RLIMIT_NOFILE", RLIMIT_NOFILE, order.open_files, 0},
      {"RLIMIT_FSIZE", RLIMIT_FSIZE, order.file_bytes, 0},
  };
  for (const Row& row : rows) {
    if (row.value == kNoLimit) continue;
    const std::uint64_t hard = row.value + std::min(row.grace, kNoLimit - row.value);
    *result = Apply(row.resource, row.value, hard);
    if (*result != 0) return row.name;
  }
  return nullptr;
}

}  // namespace native_runner

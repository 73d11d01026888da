#include "policy/outcome/output_keep.h"

namespace native_runner {

KeepRule KeepRuleFor(std::uint64_t limit, Keep keep) {
  if (keep == Keep::kHead) return {.head = limit, .tail = 0};
  const std::uint64_t tail = limit / 2;
  return {.head = limit - tail, .tail = tail};
}

}  // namespace native_runner

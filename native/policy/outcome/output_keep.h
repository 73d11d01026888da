#pragma once

#include <cstdint>

#include "policy/options/limits.h"

namespace native_runner {

// Which bytes of a stream are kept: the first `head` and the last `tail`; head + tail == limit.
// kHead keeps only the head. An odd limit gives the head its extra byte.
struct KeepRule {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
};
KeepRule KeepRuleFor(std::uint64_t limit, Keep keep);

}  // namespace native_runner

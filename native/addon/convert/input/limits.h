#pragma once

#include "addon/convert/fields.h"
#include "policy/options/limits.h"

namespace native_runner {

// The limits of one run. `deadline` is what it has when timeoutMs was not given; none: no deadline.
Limits ReadLimits(Fields& limits, std::optional<std::uint64_t> deadline);

}  // namespace native_runner

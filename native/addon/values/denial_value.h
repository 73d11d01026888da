#pragma once

#include <napi.h>

#include <vector>

#include "addon/values/value_builder.h"
#include "policy/denials/denial.h"

namespace native_runner {

// What a run was denied, as types/denials.d.ts has it but for a grant's `cli`, which is lib's.
// Undefined where there is nothing. Whole only if builder.ok() afterwards.
napi_value MakeDenials(ValueBuilder& builder, const std::vector<Denial>& denials);

}  // namespace native_runner

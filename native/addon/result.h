#pragma once

#include <string>

#include "addon/value_builder.h"
#include "supervise/run_result.h"

namespace native_runner {

// A run's result as the contract's NativeExecResult, with plain Uint8Arrays; large outputs change
// hands without being copied. Whole only if builder.ok() afterwards.
napi_value MakeResult(ValueBuilder& builder, RunResult result, const std::string& policy_hash);

}  // namespace native_runner

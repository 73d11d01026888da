#pragma once

#include <napi.h>

#include "addon/values/value_builder.h"
#include "policy/network/record/connection_record.h"

namespace native_runner {

// An entry of an audit's `connections` (types/network.d.ts). Whole only if builder.ok() afterwards.
napi_value MakeConnection(ValueBuilder& builder, const ConnectionRecord& record);

}  // namespace native_runner

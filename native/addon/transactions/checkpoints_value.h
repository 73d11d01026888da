#pragma once

#include <vector>

#include "addon/values/value_builder.h"
#include "policy/transaction/checkpoint_record.h"

namespace native_runner {

// types/addon-transaction.d.ts's NativeCheckpoint, of one and of each.
napi_value CheckpointValue(ValueBuilder& builder, const CheckpointRecord& record);
napi_value CheckpointsValue(ValueBuilder& builder, const std::vector<CheckpointRecord>& records);

}  // namespace native_runner

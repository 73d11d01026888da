#include "addon/transactions/checkpoints_value.h"

namespace native_runner {

napi_value CheckpointValue(ValueBuilder& builder, const CheckpointRecord& record) {
  constexpr double kNanosecondsPerMs = 1e6;
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(record.id));
  builder.Set(value, "name", builder.String(record.name));
  builder.Set(value, "createdMs",
              builder.Number(static_cast<double>(record.created_ns) / kNanosecondsPerMs));
  return value;
}

napi_value CheckpointsValue(ValueBuilder& builder, const std::vector<CheckpointRecord>& records) {
  std::vector<napi_value> values;
  values.reserve(records.size());
  for (const CheckpointRecord& record : records)
    values.push_back(CheckpointValue(builder, record));
  return builder.Array(values);
}

}  // namespace native_runner

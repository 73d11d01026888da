#include "addon/values/connection_value.h"

#include <cmath>

namespace native_runner {

napi_value MakeConnection(ValueBuilder& builder, const ConnectionRecord& record) {
  napi_value made = builder.Object();
  builder.Set(made, "host", builder.String(record.host));
  builder.Set(made, "port", builder.Number(record.port));
  if (!record.address.empty()) builder.Set(made, "address", builder.String(record.address));
  builder.Set(made, "verdict", builder.String(record.allowed ? "allowed" : "denied"));
  if (!record.rule.empty()) builder.Set(made, "rule", builder.String(record.rule));
  if (!record.reason.empty()) builder.Set(made, "reason", builder.String(record.reason));
  builder.Set(made, "via", builder.String(ConnectionViaName(record.via)));
  builder.Set(made, "bytesOut", builder.Number(static_cast<double>(record.bytes_out)));
  builder.Set(made, "bytesIn", builder.Number(static_cast<double>(record.bytes_in)));
  builder.Set(made, "durationMs", builder.Number(std::round(record.duration_ms * 1000) / 1000));
  builder.Set(made, "count", builder.Number(static_cast<double>(record.count)));
  return made;
}

}  // namespace native_runner

#include "addon/transactions/opened_value.h"

#include <string>

#include "addon/transactions/transaction_list_value.h"

namespace native_runner {

napi_value OpenedValue(ValueBuilder& builder, const Transaction& opened) {
  napi_value told = builder.Object();
  builder.Set(told, "id", builder.String(opened.id()));
  builder.Set(told, "backend", builder.String(opened.backend()));
  const std::string& reason = opened.backend_reason();
  if (!reason.empty()) builder.Set(told, "backendReason", builder.String(reason));
  if (const auto& copied = opened.copied()) {
    napi_value counts = builder.Object();
    builder.Set(counts, "files", builder.Number(static_cast<double>(copied->files)));
    builder.Set(counts, "bytes", builder.Number(static_cast<double>(copied->bytes)));
    builder.Set(told, "copied", counts);
  }
  if (const char* recovered = RecoveredName(opened.recovered())) {
    builder.Set(told, "recovered", builder.String(recovered));
  }
  return told;
}

}  // namespace native_runner

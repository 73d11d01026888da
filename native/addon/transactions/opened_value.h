#pragma once

#include <node_api.h>

#include "addon/values/value_builder.h"
#include "effects/transaction/transaction.h"

namespace native_runner {

// What is known of a transaction once it is open: see OpenedTransaction in
// types/addon-transaction.d.ts. JavaScript thread.
napi_value OpenedValue(ValueBuilder& builder, const Transaction& opened);

}  // namespace native_runner

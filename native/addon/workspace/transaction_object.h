#pragma once

#include <napi.h>

#include <memory>

#include "addon/convert/fields.h"
#include "addon/environment/environment_state.h"
#include "workspace/transaction/transaction.h"

namespace native_runner {

// Defines the class that makes a TransactionHandle (types/addon-transaction.d.ts) on `exports`.
void DefineTransaction(Napi::Env env, Napi::Object exports, EnvironmentState* state);

// Returns the transaction of such an object, which must be open; nullptr for `undefined`. Any other
// value is a fault of the reader.
std::shared_ptr<Transaction> ReadTransaction(Reader& reader, const Napi::Value& value);

// Defines `listTransactions` and `measureTransactions` of types/addon.d.ts on `exports`.
void DefineTransactionList(Napi::Env env, Napi::Object exports);

}  // namespace native_runner

#pragma once

#include <napi.h>

#include "effects/commit/commit.h"

namespace native_runner {

// As types/transaction.d.ts has it; nullptr for nothing.
const char* RecoveredName(Recovered recovered);

// Defines `listTransactions` of types/addon.d.ts on `exports`.
void DefineTransactionList(Napi::Env env, Napi::Object exports);

}  // namespace native_runner

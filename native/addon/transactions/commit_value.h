#pragma once

#include "addon/environment/background_work.h"
#include "effects/transaction/transaction.h"

namespace native_runner {

// What a commit did, or would do: see CommitAnswer in types/addon-transaction.d.ts. Packed on the
// thread that calls; only the rest is the JavaScript thread's work.
MakeValue CommitValue(Transaction::CommitResult result);

}  // namespace native_runner

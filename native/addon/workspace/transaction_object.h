#pragma once

#include <napi.h>
#include <node_api.h>

#include <memory>
#include <string>
#include <vector>

#include "addon/convert/fields.h"
#include "addon/environment/background_work.h"
#include "addon/environment/environment_state.h"
#include "addon/values/value_builder.h"
#include "policy/transaction/change.h"
#include "policy/transaction/journal.h"
#include "workspace/transaction/transaction.h"
#include "workspace/transaction/transaction_directory.h"

namespace native_runner {

// Makes an array of Change (types/transaction.d.ts).
napi_value ChangesValue(ValueBuilder& builder, const std::vector<Change>& changes);

// Many changes as one text and one array of numbers, from which JavaScript makes objects
// (lib/runners/transactions/changes.ts): Node-API takes about a microsecond for each object, on the
// JavaScript thread. Packed on any thread.
//
// Each change has eight doubles: kind, type, size, previous size, mode, previous mode, flags (1
// conflict, 2 target, 4 from, 8 version), and ctime in milliseconds or 0. In the text it has its
// path, then its from, target and version if it has these, each followed by a NUL byte.
struct PackedChanges {
  std::string text;
  std::vector<double> numbers;
};

PackedChanges Pack(const std::vector<Change>& changes, bool has_versions = false);

// Makes { text, numbers }, the numbers as bytes.
napi_value PackedChangesValue(ValueBuilder& builder, const PackedChanges& packed);

// Make NativeCheckpoint (types/addon-transaction.d.ts): of one record, and an array of several.
napi_value CheckpointValue(ValueBuilder& builder, const CheckpointRecord& record);
napi_value CheckpointsValue(ValueBuilder& builder, const std::vector<CheckpointRecord>& records);

// Makes an element of listTransactions: NativeListedTransaction in types/addon-transaction.d.ts.
napi_value ListedValue(ValueBuilder& builder, const ListedTransaction& listed);

// Makes the result of measureTransactions: NativeSpaceReport in types/addon-transaction.d.ts.
napi_value SpaceValue(ValueBuilder& builder, const SpaceReport& report);

// Makes the description of an open transaction: OpenedTransaction in types/addon-transaction.d.ts.
// JavaScript thread.
napi_value OpenedValue(ValueBuilder& builder, const Transaction& opened);

// Makes the result of a commit, or of a check of one: CommitAnswer in types/addon-transaction.d.ts.
// Packs on the calling thread; only the rest is the JavaScript thread's work.
MakeValue CommitValue(Transaction::CommitResult result);

// An array of steps: { path, verdict, reason, mode, removed, base, ours, theirs }.
napi_value MergePlanValue(ValueBuilder& builder, const MergePlan& plan);

// Defines the class that makes a TransactionHandle (types/addon-transaction.d.ts) on `exports`.
void DefineTransaction(Napi::Env env, Napi::Object exports, EnvironmentState* state);

// Returns the transaction of such an object, which must be open; nullptr for `undefined`. Any other
// value is a fault of the reader.
std::shared_ptr<Transaction> ReadTransaction(Reader& reader, const Napi::Value& value);

// Defines `listTransactions` and `measureTransactions` of types/addon.d.ts on `exports`.
void DefineTransactionList(Napi::Env env, Napi::Object exports);

}  // namespace native_runner

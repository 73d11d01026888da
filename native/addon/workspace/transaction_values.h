#pragma once

#include <node_api.h>

#include <string>
#include <vector>

#include "addon/environment/background_work.h"
#include "addon/values/value_builder.h"
#include "policy/transaction/change.h"
#include "policy/transaction/transaction_record.h"
#include "workspace/transaction/transaction.h"
#include "workspace/transaction/transaction_directory.h"

namespace native_runner {

// types/transaction.d.ts's Change, for each.
napi_value ChangesValue(ValueBuilder& builder, const std::vector<Change>& changes);

// Many changes as one text and one array of numbers, which JavaScript makes objects of
// (lib/runners/transactions/changes.ts): Node-API takes about a microsecond for each object, on
// JavaScript's own thread. Packed on any thread.
//
// For each change eight doubles: kind, type, size, previous size, mode, previous mode, flags (1
// a conflict, 2 a target, 4 from, 8 a version), and ctime in milliseconds or 0; and in the text its
// path, then where it is from, its target and its version if it has these, each with a NUL byte
// after it.
struct PackedChanges {
  std::string text;
  std::vector<double> numbers;
};

PackedChanges Pack(const std::vector<Change>& changes, bool has_versions = false);

// { text, numbers }, the numbers as bytes.
napi_value PackedChangesValue(ValueBuilder& builder, const PackedChanges& packed);

// types/addon-transaction.d.ts's NativeCheckpoint, of one and of each.
napi_value CheckpointValue(ValueBuilder& builder, const CheckpointRecord& record);
napi_value CheckpointsValue(ValueBuilder& builder, const std::vector<CheckpointRecord>& records);

// One of listTransactions: see NativeListedTransaction in types/addon-transaction.d.ts.
napi_value ListedValue(ValueBuilder& builder, const ListedTransaction& listed);

// What is known of a transaction once it is open: see OpenedTransaction in
// types/addon-transaction.d.ts. JavaScript thread.
napi_value OpenedValue(ValueBuilder& builder, const Transaction& opened);

// What a commit did, or would do: see CommitAnswer in types/addon-transaction.d.ts. Packed on the
// thread that calls; only the rest is the JavaScript thread's work.
MakeValue CommitValue(Transaction::CommitResult result);

}  // namespace native_runner

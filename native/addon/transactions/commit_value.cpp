#include "addon/transactions/commit_value.h"

#include <utility>

#include "addon/transactions/changes_value.h"
#include "addon/transactions/packed_changes.h"

namespace native_runner {

MakeValue CommitValue(Transaction::CommitResult result) {
  PackedChanges committed = Pack(result.committed);
  PackedChanges left = Pack(result.left);
  return [result = std::move(result), committed = std::move(committed),
          left = std::move(left)](ValueBuilder& builder) {
    napi_value told = builder.Object();
    builder.Set(told, "committed", PackedChangesValue(builder, committed));
    builder.Set(told, "digests", builder.Strings(result.digests));
    builder.Set(told, "left", PackedChangesValue(builder, left));
    builder.Set(told, "conflicts", ChangesValue(builder, result.conflicts));
    builder.Set(told, "unexpected", builder.Strings(result.unexpected));
    builder.Set(told, "refused", ChangesValue(builder, result.refused));
    return told;
  };
}

}  // namespace native_runner

#include "policy/transaction/checkpoint_record.h"

#include "policy/transaction/record_text.h"
#include "policy/transaction/transaction_record.h"

namespace native_runner {
namespace {

constexpr std::string_view kCheckpointVersion = "1";

}  // namespace

std::string EncodeCheckpoint(const CheckpointRecord& record) {
  std::string text;
  PutLine(&text, "version", kCheckpointVersion);
  PutLine(&text, "id", record.id);
  PutLine(&text, "name", record.name);
  PutLine(&text, "order", std::to_string(record.order));
  PutLine(&text, "created-ns", std::to_string(record.created_ns));
  PutLine(&text, "commit", record.commit);
  return text;
}

Result<CheckpointRecord> DecodeCheckpoint(std::string_view text) {
  CheckpointRecord record{};
  std::string version;
  const bool is_whole = TakeLine(&text, "version", &version) && version == kCheckpointVersion &&
                        TakeLine(&text, "id", &record.id) && IsTransactionId(record.id) &&
                        TakeLine(&text, "name", &record.name) &&
                        TakeLine(&text, "order", &record.order) &&
                        TakeLine(&text, "created-ns", &record.created_ns) &&
                        TakeLine(&text, "commit", &record.commit) && text.empty();
  if (is_whole) return record;
  return Error{ErrorCode::kSetup, "a checkpoint's record is not whole",
               "it was written by another version of this package, or damaged"};
}

}  // namespace native_runner

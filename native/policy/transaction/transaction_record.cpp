#include "policy/transaction/transaction_record.h"

#include "policy/transaction/record_text.h"

namespace native_runner {
namespace {

constexpr std::string_view kRecordVersion = "1";
constexpr std::size_t kIdLength = 12;

}  // namespace

bool IsTransactionId(std::string_view id) {
  return id.size() == kIdLength &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string EncodeRecord(const TransactionRecord& record) {
  std::string text;
  PutLine(&text, "version", kRecordVersion);
  PutLine(&text, "id", record.id);
  PutLine(&text, "workspace", record.workspace);
  PutLine(&text, "device", std::to_string(record.identity.device));
  PutLine(&text, "inode", std::to_string(record.identity.inode));
  PutLine(&text, "backend", record.backend);
  PutLine(&text, "created-ns", std::to_string(record.created_ns));
  return text;
}

Result<TransactionRecord> DecodeRecord(std::string_view text) {
  TransactionRecord record{};
  std::string version;
  const bool is_whole = TakeLine(&text, "version", &version) && version == kRecordVersion &&
                        TakeLine(&text, "id", &record.id) && IsTransactionId(record.id) &&
                        TakeLine(&text, "workspace", &record.workspace) &&
                        record.workspace.starts_with('/') &&
                        TakeLine(&text, "device", &record.identity.device) &&
                        TakeLine(&text, "inode", &record.identity.inode) &&
                        TakeLine(&text, "backend", &record.backend) &&
                        (record.backend == kOverlayBackend || record.backend == kCopyBackend) &&
                        TakeLine(&text, "created-ns", &record.created_ns) && text.empty();
  if (is_whole) return record;
  return Error{ErrorCode::kSetup, "the transaction's record is not whole",
               "it was written by another version of this package, or damaged: look at its files "
               "by hand"};
}

}  // namespace native_runner

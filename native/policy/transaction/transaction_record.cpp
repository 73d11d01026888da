#include "policy/transaction/transaction_record.h"

#include "protocol/identity.h"

namespace native_runner {
namespace {

constexpr std::string_view kRecordVersion = "1";
constexpr std::string_view kCheckpointVersion = "1";
constexpr std::size_t kIdLength = 12;

// Writes a line of a record on disk: NAME=VALUE, ended by a NUL, so that a value may be any text or
// path.
void PutLine(std::string* text, std::string_view name, std::string_view value) {
  *text += name;
  *text += '=';
  *text += value;
  *text += '\0';
}

// Takes the next line off `rest` and returns its value. Returns false if the line has another name
// or is not complete.
bool TakeLine(std::string_view* rest, std::string_view name, std::string* value) {
  const std::size_t end = rest->find('\0');
  if (end == std::string_view::npos || rest->substr(0, name.size()) != name ||
      rest->size() <= name.size() || (*rest)[name.size()] != '=' || end <= name.size()) {
    return false;
  }
  *value = rest->substr(name.size() + 1, end - name.size() - 1);
  rest->remove_prefix(end + 1);
  return true;
}

bool TakeLine(std::string_view* rest, std::string_view name, std::uint64_t* number) {
  std::string text;
  if (!TakeLine(rest, name, &text)) return false;
  const char* at = text.c_str();
  return TakeDecimal(&at, number) && *at == '\0';
}

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
  // Not of those that are no forks, which earlier versions can read.
  if (!record.parent.empty()) PutLine(&text, "parent", record.parent);
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
                        TakeLine(&text, "created-ns", &record.created_ns) &&
                        (text.empty() || (TakeLine(&text, "parent", &record.parent) &&
                                          IsTransactionId(record.parent) && text.empty()));
  if (is_whole) return record;
  return Error{ErrorCode::kSetup, "the transaction's record is not whole",
               "it was written by another version of this package, or damaged: look at its files "
               "by hand"};
}

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

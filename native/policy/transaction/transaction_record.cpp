#include "policy/transaction/transaction_record.h"

#include <array>

#include "protocol/decimal.h"

namespace native_runner {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kIdLength = 12;

void Put(std::string* text, std::string_view name, std::string_view value) {
  *text += name;
  *text += '=';
  *text += value;
  *text += '\0';
}

// The value of the next line, which must have this name.
bool Take(std::string_view* rest, std::string_view name, std::string* value) {
  const std::size_t end = rest->find('\0');
  if (end == std::string_view::npos || rest->substr(0, name.size()) != name ||
      rest->size() <= name.size() || (*rest)[name.size()] != '=' || end <= name.size()) {
    return false;
  }
  *value = rest->substr(name.size() + 1, end - name.size() - 1);
  rest->remove_prefix(end + 1);
  return true;
}

bool TakeNumber(std::string_view* rest, std::string_view name, std::uint64_t* number) {
  std::string text;
  if (!Take(rest, name, &text)) return false;
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
  Put(&text, "version", kVersion);
  Put(&text, "id", record.id);
  Put(&text, "workspace", record.workspace);
  Put(&text, "device", std::to_string(record.identity.device));
  Put(&text, "inode", std::to_string(record.identity.inode));
  Put(&text, "backend", record.backend);
  Put(&text, "created-ns", std::to_string(record.created_ns));
  return text;
}

Result<TransactionRecord> DecodeRecord(std::string_view text) {
  TransactionRecord record{};
  std::string version;
  const bool is_whole =
      Take(&text, "version", &version) && version == kVersion && Take(&text, "id", &record.id) &&
      IsTransactionId(record.id) && Take(&text, "workspace", &record.workspace) &&
      record.workspace.starts_with('/') && TakeNumber(&text, "device", &record.identity.device) &&
      TakeNumber(&text, "inode", &record.identity.inode) &&
      Take(&text, "backend", &record.backend) && record.backend == "overlay" &&
      TakeNumber(&text, "created-ns", &record.created_ns) && text.empty();
  if (is_whole) return record;
  return Error{ErrorCode::kSetup, "the transaction's record is not whole",
               "it was written by another version of this package, or damaged: look at its files "
               "by hand"};
}

}  // namespace native_runner

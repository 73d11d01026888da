#include "policy/transaction/journal.h"

#include <utility>

#include "protocol/identity.h"

namespace native_runner {
namespace {

constexpr std::string_view kJournalVersion = "journal 3";
constexpr std::string_view kVersionWithoutContents = "journal 2";
constexpr std::string_view kVersionWithoutChecksum = "journal 1";

// Takes the number of an enumerator. `last` is the last valid one.
template <typename Enumeration>
bool TakeKind(std::string_view* rest, Enumeration last, Enumeration* kind) {
  std::uint64_t number = 0;
  if (!TakeNumber(rest, &number) || number > static_cast<std::uint64_t>(last)) return false;
  *kind = static_cast<Enumeration>(number);
  return true;
}

void PutPlace(std::string* text, const SitePath& place) {
  PutNumber(text, static_cast<std::uint64_t>(place.site));
  PutField(text, place.path);
}

bool TakePlace(std::string_view* rest, SitePath* place) {
  return TakeKind(rest, Site::kUpperBackup, &place->site) && TakeField(rest, &place->path);
}

bool TakeContents(std::string_view* rest, std::optional<std::uint64_t>* contents) {
  std::uint64_t has_contents = 0;
  if (!TakeNumber(rest, &has_contents) || has_contents > 1) return false;
  return has_contents == 0 || TakeNumber(rest, &contents->emplace());
}

bool TakeOperation(std::string_view* rest, Operation* operation) {
  return TakeKind(rest, Operation::Kind::kAttributes, &operation->kind) &&
         TakePlace(rest, &operation->from) && TakePlace(rest, &operation->to) &&
         TakeHostFile(rest, &operation->from_file) && TakeHostFile(rest, &operation->to_file);
}

}  // namespace

Operation InverseOf(const Operation& operation) {
  Operation inverse = operation;
  switch (operation.kind) {
    case Operation::Kind::kMove:
      std::swap(inverse.from, inverse.to);
      break;
    case Operation::Kind::kExchange:
      std::swap(inverse.from_file, inverse.to_file);
      break;
    case Operation::Kind::kAttributes:
      std::swap(inverse.from_file, inverse.to_file);
      break;
  }
  return inverse;
}

std::string EncodeJournal(const Journal& journal) {
  std::string text;
  PutField(&text, kJournalVersion);
  PutNumber(&text, static_cast<std::uint64_t>(journal.kind));
  PutNumber(&text, journal.operations.size());
  for (const Operation& operation : journal.operations) {
    PutNumber(&text, static_cast<std::uint64_t>(operation.kind));
    PutPlace(&text, operation.from);
    PutPlace(&text, operation.to);
    PutHostFile(&text, operation.from_file);
    PutHostFile(&text, operation.to_file);
    PutNumber(&text, operation.contents ? 1 : 0);
    if (operation.contents) PutNumber(&text, *operation.contents);
  }
  PutEnd(&text);
  return text;
}

Result<Journal> DecodeJournal(std::string_view text) {
  const std::string_view whole = text;
  Journal journal;
  std::string word;
  std::uint64_t count = 0;
  bool is_whole = TakeField(&text, &word) &&
                  (word == kJournalVersion || word == kVersionWithoutContents ||
                   word == kVersionWithoutChecksum) &&
                  TakeKind(&text, Journal::Kind::kUndo, &journal.kind) && TakeNumber(&text, &count);
  const bool has_checksum = is_whole && word != kVersionWithoutChecksum;
  const bool has_contents = is_whole && word == kJournalVersion;
  for (std::uint64_t left = is_whole ? count : 0; left > 0 && is_whole; --left) {
    Operation& operation = journal.operations.emplace_back();
    is_whole = TakeOperation(&text, &operation) &&
               (!has_contents || TakeContents(&text, &operation.contents));
  }
  if (is_whole && TakeEnd(whole, &text, has_checksum)) return journal;
  return Error{ErrorCode::kSetup, "the transaction's journal is not whole",
               "it was written by another version of this package, or damaged: look at its files "
               "by hand"};
}

namespace {

constexpr std::string_view kPlaceVersion = "aside 1";
constexpr std::string_view kPrefix = ".native-runner-aside-";
constexpr std::size_t kPlaceDigits = 16;

}  // namespace

std::string BackupName(std::string_view digits) {
  return std::string(kPrefix) += digits;
}

bool IsBackupPath(std::string_view path) {
  const std::string_view name = path.substr(0, path.find('/'));
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + kPlaceDigits &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

std::string EncodeBackupPlace(const BackupPlace& place) {
  std::string text;
  PutField(&text, kPlaceVersion);
  PutField(&text, place.path);
  PutNumber(&text, place.identity.device);
  PutNumber(&text, place.identity.inode);
  return text;
}

Result<BackupPlace> DecodeBackupPlace(std::string_view text) {
  BackupPlace place;
  std::string version;
  const bool is_whole = TakeField(&text, &version) && version == kPlaceVersion &&
                        TakeField(&text, &place.path) && place.path.starts_with('/') &&
                        TakeNumber(&text, &place.identity.device) &&
                        TakeNumber(&text, &place.identity.inode) && text.empty();
  if (is_whole) return place;
  return Error{ErrorCode::kSetup, "the transaction does not say where its commit's files are",
               "look for a directory .native-runner-aside-… beside the workspace, or in it"};
}

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

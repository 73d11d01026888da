#include "policy/transaction/journal.h"

#include <utility>

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

}  // namespace native_runner

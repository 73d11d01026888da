#include "policy/transaction/file_systems.h"

#include <algorithm>
#include <utility>

namespace native_runner {
namespace {

constexpr std::string_view kListVersion = "file-systems 1";
constexpr std::uint64_t kMostFileSystems = 4096;

}  // namespace

FileSystemId::Likeness FileSystemId::Compare(const FileSystemId& other) const {
  for (const auto& [mine, theirs] : {std::pair(uuid, other.uuid), std::pair(fsid, other.fsid)})
    if (mine != 0 && theirs != 0) return mine == theirs ? Likeness::kSame : Likeness::kOther;
  // Some file systems number a file anew when it was not in use.
  return handle != 0 && handle == other.handle ? Likeness::kSame : Likeness::kUnknown;
}

std::string WithFileSystems(const FileSystemList& list, std::string_view text) {
  if (list.empty()) return std::string(text);
  std::string head;
  PutField(&head, kListVersion);
  PutNumber(&head, list.size());
  for (const NumberedFileSystem& each : list) {
    PutField(&head, each.role);
    for (const std::uint64_t number : {each.device, each.id.uuid, each.id.fsid, each.id.handle})
      PutNumber(&head, number);
  }
  PutNumber(&head, ChecksumOf(head));
  return head += text;
}

Result<FileSystemList> TakeFileSystems(std::string_view* text) {
  const std::string_view whole = *text;
  FileSystemList list;
  if (!whole.starts_with(kListVersion)) return list;
  std::string version;
  std::uint64_t count = 0;
  bool is_whole = TakeField(text, &version) && version == kListVersion &&
                  TakeNumber(text, &count) && count <= kMostFileSystems;
  for (std::uint64_t left = is_whole ? count : 0; left > 0 && is_whole; --left) {
    NumberedFileSystem& each = list.emplace_back();
    is_whole = TakeField(text, &each.role) && TakeNumber(text, &each.device) &&
               TakeNumber(text, &each.id.uuid) && TakeNumber(text, &each.id.fsid) &&
               TakeNumber(text, &each.id.handle);
  }
  if (is_whole) {
    const std::uint64_t expected = ChecksumOf(whole.substr(0, whole.size() - text->size()));
    std::uint64_t checksum = 0;
    is_whole = TakeNumber(text, &checksum) && checksum == expected;
  }
  if (is_whole) return list;
  return Error{ErrorCode::kSetup, "a file of the transaction does not say what it belongs to",
               "it was written by another version of this package, or damaged: look at its files "
               "by hand"};
}

Renumbering::Renumbering(const FileSystemList& then, const FileSystemList& now) {
  std::vector<Number> gone;
  std::vector<std::uint64_t> known;
  for (const NumberedFileSystem& before : then) {
    const auto after = std::find_if(
        now.begin(), now.end(), [&before](const auto& each) { return each.role == before.role; });
    if (after == now.end()) continue;
    const auto likeness = before.id.Compare(after->id);
    if (likeness == FileSystemId::Likeness::kUnknown) continue;
    if (likeness == FileSystemId::Likeness::kOther) {
      gone.push_back({before.device, 0});
      continue;
    }
    if (std::find(known.begin(), known.end(), before.device) != known.end()) continue;
    known.push_back(before.device);
    if (before.device != after->device) numbers_.push_back({before.device, after->device});
  }
  for (const Number& number : gone)
    if (std::find(known.begin(), known.end(), number.then) == known.end()) {
      numbers_.push_back(number);
    }
}

void Renumbering::Apply(std::uint64_t* device) const {
  for (const Number& number : numbers_) {
    if (number.then != *device) continue;
    *device = number.now;
    return;
  }
}

void Renumbering::Apply(Ledger* ledger) const {
  if (changes_nothing()) return;
  for (auto& [path, baseline] : ledger->baselines)
    if (baseline.host) Apply(&*baseline.host);
}

void Renumbering::Apply(CopyManifest* manifest) const {
  if (changes_nothing()) return;
  for (auto& [path, copy] : manifest->copies)
    Apply(&copy);
}

void Renumbering::Apply(Journal* journal) const {
  if (changes_nothing()) return;
  for (Operation& operation : journal->operations) {
    Apply(&operation.from_file);
    Apply(&operation.to_file);
  }
}

}  // namespace native_runner

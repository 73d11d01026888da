#include "policy/transaction/host_file.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <utility>

namespace native_runner {
namespace {

bool TakeSmall(std::string_view* rest, std::uint32_t* number) {
  std::uint64_t taken = 0;
  if (!TakeNumber(rest, &taken) || taken > std::numeric_limits<std::uint32_t>::max()) return false;
  *number = static_cast<std::uint32_t>(taken);
  return true;
}

}  // namespace

void PutField(std::string* text, std::string_view value) {
  *text += value;
  *text += '\0';
}

void PutNumber(std::string* text, std::uint64_t number) {
  constexpr std::size_t kMostDigits = 20;
  std::array<char, kMostDigits> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  PutField(text, {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())});
}

void PutHostFile(std::string* text, const HostFile& file) {
  for (const std::uint64_t number :
       {std::uint64_t{file.mode}, std::uint64_t{file.uid}, std::uint64_t{file.gid}, file.size,
        file.device, file.inode, file.modified_ns, file.changed_ns, file.born_ns})
    PutNumber(text, number);
}

bool TakeField(std::string_view* rest, std::string* value) {
  const std::size_t end = rest->find('\0');
  if (end == std::string_view::npos) return false;
  *value = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  return true;
}

bool TakeNumber(std::string_view* rest, std::uint64_t* number) {
  std::string text;
  if (!TakeField(rest, &text)) return false;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && at == end;
}

bool TakeHostFile(std::string_view* rest, HostFile* file) {
  return TakeSmall(rest, &file->mode) && TakeSmall(rest, &file->uid) &&
         TakeSmall(rest, &file->gid) && TakeNumber(rest, &file->size) &&
         TakeNumber(rest, &file->device) && TakeNumber(rest, &file->inode) &&
         TakeNumber(rest, &file->modified_ns) && TakeNumber(rest, &file->changed_ns) &&
         TakeNumber(rest, &file->born_ns);
}

std::uint64_t ChecksumOf(std::string_view text) {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t checksum = kOffset;
  for (const char byte : text) {
    checksum ^= static_cast<unsigned char>(byte);
    checksum *= kPrime;
  }
  return checksum;
}

namespace {

constexpr std::string_view kEnd = "end";

}  // namespace

void PutEnd(std::string* text) {
  PutField(text, kEnd);
  PutNumber(text, ChecksumOf(*text));
}

bool TakeEnd(std::string_view whole, std::string_view* rest, bool has_checksum) {
  std::string word;
  if (!TakeField(rest, &word) || word != kEnd) return false;
  if (!has_checksum) return rest->empty();
  const std::uint64_t expected = ChecksumOf(whole.substr(0, whole.size() - rest->size()));
  std::uint64_t checksum = 0;
  return TakeNumber(rest, &checksum) && checksum == expected && rest->empty();
}

namespace {

constexpr std::string_view kManifestVersion = "copies 2";
constexpr std::string_view kManifestWithoutChecksum = "copies 1";

}  // namespace

HostFile AsOnHost(HostFile now, const HostFile* copy, const HostFile* host) {
  constexpr std::uint32_t kType = 0170000;
  if (copy == nullptr || host == nullptr) return now;
  if (now.uid == copy->uid) now.uid = host->uid;
  if (now.gid == copy->gid) now.gid = host->gid;
  if (now.mode == copy->mode && (now.mode & kType) == (host->mode & kType)) now.mode = host->mode;
  return now;
}

std::string EncodeManifest(const CopyManifest& manifest) {
  std::string text;
  PutField(&text, kManifestVersion);
  PutNumber(&text, manifest.copies.size());
  for (const auto& [path, copy] : manifest.copies) {
    PutField(&text, path);
    PutHostFile(&text, copy);
  }
  PutEnd(&text);
  return text;
}

Result<CopyManifest> DecodeManifest(std::string_view text) {
  const std::string_view whole = text;
  CopyManifest manifest;
  std::string word;
  std::uint64_t count = 0;
  bool is_whole = TakeField(&text, &word) &&
                  (word == kManifestVersion || word == kManifestWithoutChecksum) &&
                  TakeNumber(&text, &count);
  const bool has_checksum = word == kManifestVersion;
  for (std::uint64_t left = is_whole ? count : 0; left > 0 && is_whole; --left) {
    std::string path;
    HostFile copy;
    is_whole = TakeField(&text, &path) && !path.empty() && TakeHostFile(&text, &copy) &&
               manifest.copies.emplace(std::move(path), copy).second;
  }
  if (is_whole && TakeEnd(whole, &text, has_checksum)) return manifest;
  return Error{ErrorCode::kSetup, "the transaction's list of copies is not whole",
               "it was written by another version of this package, or damaged: look at its files "
               "by hand"};
}

namespace {

constexpr std::string_view kLedgerVersion = "ledger 2";
constexpr std::string_view kLedgerWithoutEnd = "ledger 1";
constexpr std::uint64_t kIsSuspect = 1;
constexpr std::uint64_t kHasHost = 2;
constexpr std::uint64_t kHasContents = 4;

bool TakeBaseline(std::string_view* rest, Ledger* ledger) {
  std::string path;
  Baseline baseline;
  std::uint64_t flags = 0;
  if (!TakeField(rest, &path) || path.empty() || !TakeNumber(rest, &flags) ||
      flags > (kIsSuspect | kHasHost | kHasContents) || !TakeNumber(rest, &baseline.since_ns)) {
    return false;
  }
  baseline.is_suspect = (flags & kIsSuspect) != 0;
  if ((flags & kHasHost) != 0 && !TakeHostFile(rest, &baseline.host.emplace())) return false;
  if ((flags & kHasContents) != 0 && !TakeNumber(rest, &baseline.contents.emplace())) return false;
  return ledger->baselines.emplace(std::move(path), baseline).second;
}

}  // namespace

bool HostHasChanged(const Baseline& baseline, const std::optional<HostFile>& now, bool is_hidden) {
  if (baseline.is_suspect || baseline.host.has_value() != now.has_value()) return true;
  if (!now) return false;
  if (!now->is_directory() || !baseline.host->is_directory()) return *now != *baseline.host;
  if (!now->IsSameInode(*baseline.host) || !now->HasSameAttributes(*baseline.host)) return true;
  return is_hidden && now->changed_ns != baseline.host->changed_ns;
}

std::uint64_t SinceAbove(const Ledger& ledger, std::string_view path) {
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    path = path.substr(0, slash);
    const auto above = ledger.baselines.find(path);
    if (above != ledger.baselines.end()) return above->second.since_ns;
  }
  return ledger.looked_ns;
}

std::string EncodeLedger(const Ledger& ledger) {
  std::string text;
  PutField(&text, kLedgerVersion);
  PutNumber(&text, ledger.looked_ns);
  PutNumber(&text, ledger.baselines.size());
  for (const auto& [path, baseline] : ledger.baselines) {
    PutField(&text, path);
    PutNumber(&text, (baseline.is_suspect ? kIsSuspect : 0) | (baseline.host ? kHasHost : 0) |
                         (baseline.contents ? kHasContents : 0));
    PutNumber(&text, baseline.since_ns);
    if (baseline.host) PutHostFile(&text, *baseline.host);
    if (baseline.contents) PutNumber(&text, *baseline.contents);
  }
  PutEnd(&text);
  return text;
}

Result<Ledger> DecodeLedger(std::string_view text) {
  const std::string_view whole = text;
  Ledger ledger;
  std::string version;
  bool is_whole = TakeField(&text, &version) &&
                  (version == kLedgerVersion || version == kLedgerWithoutEnd) &&
                  TakeNumber(&text, &ledger.looked_ns);
  if (version == kLedgerWithoutEnd) {
    while (is_whole && !text.empty())
      is_whole = TakeBaseline(&text, &ledger);
    if (is_whole) return ledger;
  }
  std::uint64_t count = 0;
  is_whole = is_whole && version == kLedgerVersion && TakeNumber(&text, &count);
  for (std::uint64_t left = is_whole ? count : 0; left > 0 && is_whole; --left)
    is_whole = TakeBaseline(&text, &ledger);
  if (is_whole && TakeEnd(whole, &text, true)) return ledger;
  return Error{ErrorCode::kSetup, "the transaction's ledger is not whole", ""};
}

}  // namespace native_runner

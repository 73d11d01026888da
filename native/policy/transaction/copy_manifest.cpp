#include "policy/transaction/copy_manifest.h"

#include <utility>

#include "policy/transaction/host_file_text.h"

namespace native_runner {
namespace {

constexpr std::string_view kManifestVersion = "copies 1";
constexpr std::string_view kManifestEnd = "end";

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
  PutField(&text, kManifestEnd);
  return text;
}

Result<CopyManifest> DecodeManifest(std::string_view text) {
  CopyManifest manifest;
  std::string word;
  std::uint64_t count = 0;
  bool is_whole = TakeField(&text, &word) && word == kManifestVersion && TakeNumber(&text, &count);
  for (std::uint64_t left = is_whole ? count : 0; left > 0 && is_whole; --left) {
    std::string path;
    HostFile copy;
    is_whole = TakeField(&text, &path) && !path.empty() && TakeHostFile(&text, &copy) &&
               manifest.copies.emplace(std::move(path), copy).second;
  }
  if (is_whole && TakeField(&text, &word) && word == kManifestEnd && text.empty()) return manifest;
  return Error{ErrorCode::kSetup, "the transaction's list of copies is not whole",
               "it was written by another version of this package, or damaged: look at its files "
               "by hand"};
}

}  // namespace native_runner

#include "workspace/changes/patch.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "policy/git/patch.h"
#include "policy/text/digest.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kMostInFile = std::uint64_t{128} << 20U;

struct Contents {
  std::uint32_t mode;
  std::string bytes;
};

Error Unreadable(const std::string& path, const std::string& why) {
  return Error{ErrorCode::kSetup, path + ": " + why, ""};
}

Result<std::string> ReadAll(const ScannedDirectory& directory, const std::string& name,
                            const Change& change, std::uint64_t size) {
  if (size > kMostInFile) return Unreadable(change.path, "larger than 128 MiB");
  auto file = directory.OpenFile(name);
  if (!file) return file.error();
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(file->get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Unreadable(change.path, std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Error TooLong(std::uint64_t most) {
  return Error{ErrorCode::kOutOfRange,
               "the diff has more than " + std::to_string(most) + " bytes (maxBytes)",
               "raise maxBytes, or ask for some paths at a time"};
}

// Of what is made or removed, all is in the text.
bool CantFit(const Change& change, std::uint64_t room) {
  const bool is_whole = change.mode == 0 || change.previous_mode == 0;
  return is_whole && std::max(change.size, change.previous_size) > room;
}

// What git would keep of one side of a change; nothing of what it keeps not.
struct Side {
  std::optional<Contents> contents;
  bool has_gone = false;  // a command or the host has removed or replaced it since the change
};

// Looks before and after, as the error alone does not tell what is in a replaced file's place.
Result<Side> Read(const ScannedTree& tree, const Change& change, std::uint32_t mode,
                  std::uint64_t size) {
  if (!S_ISREG(mode) && !S_ISLNK(mode)) return Side{};
  const auto [parent, last] = SplitPath(change.path);
  const std::string name(last);
  TRY_ASSIGN(const auto directory, tree.OpenIfThere(parent));
  if (!directory) return Side{std::nullopt, true};
  TRY_ASSIGN(const auto node, directory->Look(name));
  if (!node || (node->mode & S_IFMT) != (mode & S_IFMT)) return Side{std::nullopt, true};
  auto bytes = S_ISLNK(mode) ? directory->Target(name) : ReadAll(*directory, name, change, size);
  if (bytes) return Side{Contents{mode, std::move(*bytes)}};
  TRY_ASSIGN(const auto now, directory->Look(name));
  if (!now || !now->IsSameInode(*node)) return Side{std::nullopt, true};
  return bytes.error();
}

GitFile::Kind KindOf(std::uint32_t mode) {
  if (S_ISLNK(mode)) return GitFile::Kind::kLink;
  return (mode & S_IXUSR) != 0 ? GitFile::Kind::kProgram : GitFile::Kind::kFile;
}

std::optional<GitFile> AsGitFile(const std::optional<Contents>& contents) {
  if (!contents) return std::nullopt;
  return GitFile{KindOf(contents->mode), contents->bytes};
}

// A rename is told without the file's bytes. Empty: git sees nothing, or it has just gone.
Result<std::string> PatchOf(const ScannedTree& upper, const ScannedTree& lower,
                            const Change& change) {
  if (change.kind == Change::Kind::kRenamed) {
    return GitRename(change.from, change.path, KindOf(change.previous_mode), KindOf(change.mode));
  }
  TRY_ASSIGN(const Side before, Read(lower, change, change.previous_mode, change.previous_size));
  TRY_ASSIGN(const Side after, Read(upper, change, change.mode, change.size));
  if (before.has_gone || after.has_gone) return std::string();
  if (!before.contents && !after.contents) return std::string();
  return GitPatch(change.path, AsGitFile(before.contents), AsGitFile(after.contents));
}

}  // namespace

Result<std::string> MakePatch(const ScannedTree& upper, const ScannedTree& lower,
                              const std::vector<Change>& changes, std::uint64_t most) {
  std::string text;
  for (const Change& change : changes) {
    if (IsStopped()) return Error{ErrorCode::kClosed, "the transaction was closed", ""};
    if (CantFit(change, most - text.size())) return TooLong(most);
    auto patch = PatchOf(upper, lower, change);
    if (!patch) return patch.error();
    text += *patch;
    if (text.size() > most) return TooLong(most);
  }
  return text;
}

namespace {

constexpr std::size_t kDigestBlock = std::size_t{128} << 10U;

std::optional<std::string> Sha256Of(int file, std::vector<std::uint8_t>* block) {
  Sha256 digest;
  while (!IsStopped()) {
    const ssize_t got = read(file, block->data(), block->size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return digest.Finish();
    digest.Update({block->data(), static_cast<std::size_t>(got)});
  }
  return std::nullopt;
}

// One path after the other; the last directory stays open, for those of one come on end.
class Digester {
 public:
  explicit Digester(const ScannedTree& tree) : tree_(tree) {}

  std::string DigestAt(const std::string& path) {
    const auto [parent, name] = SplitPath(path);
    if (!directory_ || parent_ != parent) {
      directory_.reset();  // what was opened for it is shut before
      auto opened = tree_.OpenIfThere(parent);
      if (!opened || !*opened) return "";
      directory_ = std::move(*opened);
      parent_ = parent;
    }
    const auto file = directory_->OpenFile(std::string(name));
    if (!file) return "";
    return Sha256Of(file.value().get(), &block_).value_or("");
  }

 private:
  const ScannedTree& tree_;
  std::string parent_;
  std::optional<ScannedDirectory> directory_;
  std::vector<std::uint8_t> block_ = std::vector<std::uint8_t>(kDigestBlock);
};

}  // namespace

std::string FileDigest(const ScannedDirectory& directory, const std::string& name) {
  std::vector<std::uint8_t> block(kDigestBlock);
  const auto file = directory.OpenFile(name);
  return file ? Sha256Of(file.value().get(), &block).value_or("") : "";
}

void MakeDigests(const ScannedTree& tree, const std::vector<Change>& changes,
                 std::vector<std::string>* digests) {
  digests->resize(changes.size());
  std::vector<std::size_t> wanted;  // indices
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < changes.size(); ++at) {
    const Change& change = changes[at];
    if (change.mode == 0 || change.type != Change::Type::kFile) continue;
    if (files == kMostDigests) break;
    if (change.size > kMostDigestBytes - bytes) continue;
    ++files;
    bytes += change.size;
    if ((*digests)[at].empty()) wanted.push_back(at);
  }
  const auto make = [&](std::span<const std::size_t> some) {
    Digester digester(tree);
    for (const std::size_t at : some)
      (*digests)[at] = digester.DigestAt(changes[at].path);
  };
  constexpr std::size_t kMany = 64;  // half of them take longer than a thread to start
  const std::span all(wanted);
  // Two that give one directory another mode for a while would not agree on which it had.
  if (all.size() < kMany || tree.opens_closed()) return make(all);
  const std::size_t half = all.size() / 2;
  const auto other = HelperThread::Start([&] { make(all.subspan(half)); });
  make(other ? all.first(half) : all);
}

}  // namespace native_runner

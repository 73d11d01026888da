#include "workspace/changes/versions.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <string_view>
#include <utility>

#include "policy/text/digest.h"
#include "policy/transaction/file_times.h"
#include "workspace/changes/noted_contents.h"
#include "workspace/changes/patch.h"

namespace native_runner {
namespace {

// No digest is like it: a file that can't be read is never the one that was seen.
constexpr const char* kUnread = "unread";

std::string DigestOfLink(const Change& change) {
  Sha256 digest;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(change.target.data());
  digest.Update({bytes, change.target.size()});
  return digest.Finish();
}

// One path after the other; the last directory stays open, for those of one come on end.
class Digests {
 public:
  explicit Digests(const ScannedTree& tree) : tree_(tree), hides_(HidesMappedWrites(tree.root())) {}

  // Empty: it can't be read.
  std::string Of(const Change& change) {
    if (change.type == Change::Type::kSymlink) return DigestOfLink(change);
    const auto [parent, name] = SplitPath(change.path);
    const ScannedDirectory* directory = Open(parent);
    return directory == nullptr ? "" : FileDigest(*directory, std::string(name));
  }

  bool NeedsOne(const Change& change, std::uint64_t begun_ns, bool may_be_open) {
    if (MayBeSince(change.changed_ns, begun_ns)) return true;
    if (change.type != Change::Type::kFile) return false;
    if (hides_ || !may_be_open) return hides_;
    const auto [parent, name] = SplitPath(change.path);
    const ScannedDirectory* directory = Open(parent);
    if (directory == nullptr) return true;
    const auto file = directory->OpenFile(std::string(name));
    if (!file) return true;
    if (!MayBeOpenForWriting(file.value().get())) return false;
    constexpr unsigned kAll =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    static_cast<void>(sync_file_range(file.value().get(), 0, 0, kAll));  // the digest tells too
    return true;
  }

 private:
  const ScannedDirectory* Open(std::string_view path) {
    if (!directory_ || path_ != path) {
      directory_.reset();  // what was opened for it is shut before
      auto opened = tree_.OpenIfThere(path);
      if (!opened || !*opened) return nullptr;
      directory_.emplace(std::move(**opened));
      path_ = path;
    }
    return &*directory_;
  }

  const ScannedTree& tree_;
  bool hides_;
  std::string path_;
  std::optional<ScannedDirectory> directory_;
};

// One whose version has times.
bool HasTimes(const Change& change) {
  return change.mode != 0 &&
         (change.type == Change::Type::kFile || change.type == Change::Type::kSymlink);
}

}  // namespace

void AddDigests(const ScannedTree& upper, std::uint64_t begun_ns, bool may_be_open,
                std::vector<Change>* changes) {
  Digests digests(upper);
  for (Change& change : *changes) {
    if (!HasTimes(change) || !digests.NeedsOne(change, begun_ns, may_be_open)) continue;
    change.digest = digests.Of(change);
    if (change.digest.empty()) change.digest = kUnread;
  }
}

void AddSeenDigests(const ScannedTree& upper,
                    const std::map<std::string, std::string, std::less<>>& seen,
                    std::vector<Change>* changes) {
  Digests digests(upper);
  for (Change& change : *changes) {
    const auto version = seen.find(change.path);
    if (!HasTimes(change) || version == seen.end()) continue;
    const std::string bare = VersionOf(change);
    if (version->second != bare && version->second.starts_with(bare + "-")) {
      change.digest = digests.Of(change);
    }
  }
}

}  // namespace native_runner

#include "effects/checkpoint/digests.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include "policy/transaction/sha256.h"

namespace native_runner {
namespace {

constexpr std::size_t kBlock = std::size_t{128} << 10U;

std::optional<std::string> DigestOf(int file, std::vector<std::uint8_t>* block) {
  Sha256 digest;
  for (;;) {
    const ssize_t got = read(file, block->data(), block->size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return digest.Finish();
    digest.Update({block->data(), static_cast<std::size_t>(got)});
  }
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
    return DigestOf(file.value().get(), &block_).value_or("");
  }

 private:
  const ScannedTree& tree_;
  std::string parent_;
  std::optional<ScannedDirectory> directory_;
  std::vector<std::uint8_t> block_ = std::vector<std::uint8_t>(kBlock);
};

}  // namespace

void MakeDigests(const ScannedTree& tree, const std::vector<Change>& changes,
                 std::vector<std::string>* digests) {
  Digester digester(tree);
  digests->resize(changes.size());
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < changes.size(); ++at) {
    const Change& change = changes[at];
    if (change.mode == 0 || change.type != Change::Type::kFile) continue;
    if (files == kMostDigests) break;
    if (change.size > kMostDigestBytes - bytes) continue;
    ++files;
    bytes += change.size;
    std::string& digest = (*digests)[at];
    if (digest.empty()) digest = digester.DigestAt(change.path);
  }
}

}  // namespace native_runner

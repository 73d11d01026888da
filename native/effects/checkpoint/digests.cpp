#include "effects/checkpoint/digests.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>

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

std::string DigestAt(const ScannedTree& tree, const std::string& path,
                     std::vector<std::uint8_t>* block) {
  const auto [parent, name] = SplitPath(path);
  const auto directory = tree.OpenIfThere(parent);
  if (!directory || !directory.value()) return "";
  const auto file = directory.value()->OpenFile(std::string(name));
  if (!file) return "";
  return DigestOf(file.value().get(), block).value_or("");
}

}  // namespace

std::vector<std::string> DigestsOf(const ScannedTree& tree, const std::vector<Change>& changes) {
  std::vector<std::string> digests(changes.size());
  std::vector<std::uint8_t> block(kBlock);
  std::size_t files = 0;
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at < changes.size(); ++at) {
    const Change& change = changes[at];
    if (change.mode == 0 || change.type != Change::Type::kFile) continue;
    if (files == kMostDigests) break;
    if (change.size > kMostDigestBytes - bytes) continue;
    ++files;
    bytes += change.size;
    digests[at] = DigestAt(tree, change.path, &block);
  }
  return digests;
}

}  // namespace native_runner

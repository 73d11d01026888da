#include "effects/transaction/fresh/pinned_files.h"

#include <fcntl.h>

#include <utility>
#include <vector>

#include "effects/tree/beneath.h"

namespace native_runner {
namespace {

bool Shows(int overlay, const std::string& path, const Node& file) {
  const auto shown = OpenBeneath(overlay, path, O_PATH, "open");
  if (!shown) return false;
  const auto now = NodeOf(shown.value().get());
  return now && now.value().inode == file.inode;
}

bool Has(int upper, const std::string& path) {
  return static_cast<bool>(OpenBeneath(upper, path, O_PATH, "open"));
}

}  // namespace

std::set<std::string, std::less<>> FindPinned(const ScannedTree& host, int overlay, int upper,
                                              std::uint64_t since_ns) {
  std::set<std::string, std::less<>> pinned;
  std::vector<std::string> waiting = {""};
  while (!waiting.empty()) {
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    const auto directory = host.OpenIfThere(path);
    if (!directory || !directory.value()) continue;
    const auto names = directory.value()->Names();
    const auto itself = directory.value()->Look("");
    if (!names || !itself || !itself.value()) continue;
    // Another one may have come in its place, with files that have not changed.
    const bool is_new = itself.value()->changed_ns >= since_ns;
    for (const std::string& name : names.value()) {
      const auto node = directory.value()->Look(name);
      if (!node || !node.value()) continue;
      const Node& file = *node.value();
      std::string below = path.empty() ? name : path + "/" + name;
      if (file.is_directory()) {
        waiting.push_back(std::move(below));
      } else if ((is_new || file.changed_ns >= since_ns) && !Shows(overlay, below, file) &&
                 !Has(upper, below)) {
        pinned.insert(std::move(below));
      }
    }
  }
  return pinned;
}

}  // namespace native_runner

#include "effects/checkpoint/was_written.h"

#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

namespace native_runner {
namespace {

bool IsLater(const Node& node, std::uint64_t since_ns) {
  const std::uint32_t wanted = node.is_directory() ? S_IRWXU : S_IRUSR;
  const bool is_shut = (node.is_directory() || node.is_file()) && (node.mode & wanted) != wanted;
  return (is_shut ? node.modified_ns : node.changed_ns) >= since_ns;
}

}  // namespace

Result<bool> WasWritten(const ScannedTree& tree, std::uint64_t since_ns) {
  const auto top = NodeOf(tree.root());
  if (!top) return top.error();
  if (IsLater(top.value(), since_ns)) return true;
  std::vector<std::string> waiting = {""};
  while (!waiting.empty()) {
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    const auto directory = tree.OpenIfThere(path);
    if (!directory) return directory.error();
    if (!directory.value()) return true;
    const auto names = directory.value()->Names();
    if (!names) return names.error();
    for (const std::string& name : names.value()) {
      const auto node = directory.value()->Look(name);
      if (!node) return node.error();
      if (!node.value() || IsLater(*node.value(), since_ns)) return true;
      if (node.value()->is_directory()) waiting.push_back(path.empty() ? name : path + "/" + name);
    }
  }
  return false;
}

}  // namespace native_runner

#include "effects/changes/change_of.h"

#include <cstdint>

#include "effects/changes/same_file.h"

namespace native_runner {
namespace {

Change::Type TypeOf(const Node& node) {
  if (node.is_directory()) return Change::Type::kDirectory;
  if (node.is_file()) return Change::Type::kFile;
  return node.is_link() ? Change::Type::kSymlink : Change::Type::kOther;
}

std::uint64_t SizeOf(const Node& node) {
  return node.is_file() || node.is_link() ? node.size : 0;
}

}  // namespace

Change ChangeOf(const std::string& path, const TwoNodes& nodes) {
  Change change;
  change.path = path;
  change.type = TypeOf(nodes.now ? *nodes.now : *nodes.before);
  change.kind = !nodes.now      ? Change::Kind::kDeleted
                : !nodes.before ? Change::Kind::kAdded
                                : Change::Kind::kModified;
  if (nodes.now) {
    change.mode = nodes.now->mode;
    change.size = SizeOf(*nodes.now);
    change.inode = nodes.now->inode;
    change.changed_ns = nodes.now->changed_ns;
  }
  if (nodes.before) {
    change.previous_mode = nodes.before->mode;
    change.previous_size = SizeOf(*nodes.before);
  }
  return change;
}

bool AreSame(const TwoNodes& nodes, const std::string& name, const ScannedDirectory& now_in,
             const ScannedDirectory& before_in) {
  if (!nodes.now || !nodes.before) return false;
  const Node& now = *nodes.now;
  const Node& before = *nodes.before;
  if (!now.HasSameAttributes(before)) return false;
  if (now.is_directory()) return true;
  if (now.is_link()) {
    const auto target = now_in.Target(name);
    const auto previous = before_in.Target(name);
    return target && previous && target.value() == previous.value();
  }
  if (!now.is_file()) return now.device_number == before.device_number;
  if (now.size != before.size) return false;
  const auto one = now_in.OpenFile(name);
  const auto other = before_in.OpenFile(name);
  return one && other && HaveSameBytes(one.value().get(), other.value().get(), now.size) &&
         HaveSameAttributes(one.value().get(), other.value().get());
}

}  // namespace native_runner

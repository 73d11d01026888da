#include "workspace/changes/noted_contents.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <csignal>

#include "policy/transaction/file_times.h"
#include "supervise/os/file.h"
#include "workspace/changes/same_file.h"

namespace native_runner {
namespace {

std::optional<std::uint64_t> DigestOfTarget(const ScannedDirectory& directory,
                                            const std::string& name) {
  const auto target = directory.Target(name);
  return target ? std::optional(ChecksumOf(target.value())) : std::nullopt;
}

}  // namespace

bool HidesMappedWrites(int descriptor) {
  struct statfs status {};
  if (fstatfs(descriptor, &status) != 0) return true;
  const auto type = static_cast<std::uint64_t>(status.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

bool MayBeOpenForWriting(int file) {
  // Whoever opens the file while the lease lasts has a signal sent to this process: one that is
  // ignored by default, in place of SIGIO, which ends it.
  if (fcntl(file, F_SETSIG, SIGURG) != 0) return true;
  if (fcntl(file, F_SETLEASE, F_RDLCK) != 0) return true;
  return fcntl(file, F_SETLEASE, F_UNLCK) != 0;
}

bool MayChangeUnseen(int file, const HostFile& looked) {
  return MayBeSince(looked.changed_ns, FileClock()) || HidesMappedWrites(file) ||
         MayBeOpenForWriting(file);
}

std::optional<std::uint64_t> ContentsOf(const ScannedDirectory& directory, const std::string& name,
                                        const Node& node) {
  if (node.is_link()) return DigestOfTarget(directory, name);
  if (!node.is_file()) return std::nullopt;
  const auto file = directory.OpenFile(name);
  return file ? DigestOf(file.value().get()) : std::nullopt;
}

std::optional<std::uint64_t> ContentsToNote(const ScannedDirectory& directory,
                                            const std::string& name, const Node& node) {
  if (node.is_link()) {
    const bool is_settled = !MayBeSince(node.changed_ns, FileClock());
    return is_settled ? std::nullopt : DigestOfTarget(directory, name);
  }
  if (!node.is_file()) return std::nullopt;
  const auto file = directory.OpenFile(name);
  if (!file || !MayChangeUnseen(file.value().get(), node)) return std::nullopt;
  return DigestOf(file.value().get());
}

bool HasNoted(const ScannedDirectory& directory, const std::string& name,
              const std::optional<std::uint64_t>& noted) {
  if (!noted) return true;
  const auto node = directory.Look(name);
  return node && node.value() && ContentsOf(directory, name, *node.value()) == noted;
}

}  // namespace native_runner

#pragma once

#include <atomic>
#include <memory>

#include "effects/changes/scanned_tree.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Tells whether the host has changed, anywhere in a directory tree, what a name leads to: has made,
// removed, renamed or replaced anything, or changed mode, owner or another attribute. What is
// written to a file in place is none of that. By inotify(7), with a watch for each directory, so
// that asking costs one system call. One thread at a time.
class HostEdits {
 public:
  // Watches from when it returns; takes as long as it takes to look at each directory. nullptr
  // where not all can be watched: one can't be read, or it would be more than this process' share
  // of what a user has for all programs (fs.inotify.max_user_watches, max_user_instances): an
  // eighth of the watches, kMostDirectories and kMostAtOnce at most. Also once `stop` is set.
  static std::unique_ptr<HostEdits> Watch(const ScannedTree& tree, const std::atomic<bool>& stop);
  ~HostEdits();
  HostEdits(const HostEdits&) = delete;
  HostEdits& operator=(const HostEdits&) = delete;

  // A watch costs the kernel 1 to 2 KiB, and keeps the directory's inode in memory.
  static constexpr std::size_t kMostDirectories = 16'384;
  static constexpr int kMostAtOnce = 32;

  // Since it was last asked.
  bool HasSome();

  // Not once a directory has come or gone: one that has come is not watched.
  bool is_whole() const { return is_whole_; }

 private:
  explicit HostEdits(Descriptor queue);

  bool Add(int directory) const;

  Descriptor queue_;
  bool is_whole_ = true;
};

}  // namespace native_runner

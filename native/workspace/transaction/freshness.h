#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/tree/scanned_tree.h"

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

// Looks after it that what is begun in a transaction sees the host's files as they are then: a live
// overlay does not notice when the host removes, renames or replaces one. Whether the host has, is
// watched once something has run (HostEdits); where it can't be, each run is taken for one that
// comes after such a change. Any thread.
class Freshness {
 public:
  // `launcher`: absolute path of the executable.
  explicit Freshness(std::string launcher) : launcher_(std::move(launcher)) {}

  // What the transaction's runtimes enter.
  const std::shared_ptr<CurrentWorkspace>& current() const { return current_; }
  const std::string& launcher() const { return launcher_; }

  // Whether `Freshen` has anything to do before something is begun. At most two system calls, and
  // waits for nobody.
  bool IsStale();

  // Whatever is looked up in the overlay from now on is what the host has. Blocks for some 3 ms
  // where there is anything to do; where something runs, also as long as it takes to look at each
  // of the host's files, since what is open in the overlay stays as it is. `workspace`: its path;
  // `upper`: the overlay's upper directory.
  std::optional<Error> Freshen(const std::string& workspace, int upper);

  // Where, since the overlay was mounted, the host had another file than commands may have seen,
  // and looking again was no help: see FindPinned.
  std::set<std::string, std::less<>> pinned();

  // The overlay is about to be mounted anew, and will have looked at nothing.
  void BeginAnew();

  // Up to when what it shows is known to be no older than the host's files: `now`, by FileClock, or
  // an earlier moment where the host has changed something since, which what runs may not see. What
  // a command changes without having seen that is none of it.
  std::uint64_t FreshUntil(std::uint64_t now);

  // Begins to watch the host's directory, where that is not done and there is a use for it. Takes
  // as long as it takes to look at each of its directories, and does so for at most a twentieth of
  // the time: a build of the host's ends the watch again and again. Ends early after `Stop`.
  void Watch(const ScannedTree& host);
  void Stop() { is_stopped_ = true; }
  // Stops, and closes the watch.
  void End();

 private:
  bool HasMissed();

  std::string launcher_;
  std::shared_ptr<CurrentWorkspace> current_ = std::make_shared<CurrentWorkspace>();
  std::atomic<bool> is_stopped_ = false;

  std::mutex mutex_;                      // of all below
  std::unique_ptr<HostEdits> edits_;      // nullptr: nobody watches
  bool is_blind_ = false;                 // it can't be watched
  bool has_missed_ = false;               // something was changed since the overlay last looked
  std::uint64_t fresh_ns_ = FileClock();  // see FreshUntil
  std::set<std::string, std::less<>> pinned_;
  std::chrono::steady_clock::time_point next_watch_{};  // none is begun before
};

}  // namespace native_runner

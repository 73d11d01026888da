#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "supervise/os/handle.h"
#include "supervise/os/mounts.h"

namespace native_runner {

// Starts a thread that is never joined, with all signals blocked: they are for the host's own
// threads. False: no more may be started.
bool StartDetached(void* (*main)(void*), void* argument);

// The path that a thread looks at. A file system whose server has stopped (a network share, FUSE)
// never answers, so the thread that looks can't say which path it was. Any thread.
class CurrentPath {
 public:
  struct Look {
    std::string path;
    std::uint64_t since_ns = 0;  // uv_hrtime
  };

  void Set(std::string_view path);
  Look Get() const;

 private:
  mutable std::mutex mutex_;
  Look look_;
};

// Call before a look at a path that a caller chose, or that lies below one. Keeps the path where
// the thread's work is one of FileThreads; else does nothing.
void NotePath(std::string_view path);

// Looks at the file that an absolute path leads to, and so asks each file system on the way. Does
// nothing with what it finds.
void LookAtPath(const std::string& path);

// kSetup: the path has not answered, with what the operator can do; or no thread could look.
Error Unanswered(const CurrentPath::Look& look);

// Threads for work on files that may never return: one that hangs is left behind, and nothing else
// waits for it. Works of one key are done in order, one at a time; works of different keys side by
// side. Supervisor thread, except for the works themselves.
class FileThreads {
 public:
  // An address that nothing else has while a work of it lasts, which may be longer than Done is
  // awaited.
  using Key = const void*;
  // Does the work, on a thread of its own. Must own all that it uses.
  using Work = std::function<void()>;
  // Called once on the loop's thread, never before Do returns: nullopt when the work is done, or
  // why it is not waited for any more. What it captures is destroyed on the loop's thread.
  using Done = std::function<void(std::optional<Error>)>;

  static constexpr std::uint64_t kPatienceMs = 30'000;

  // `most_threads`: at once, with those that are left behind: each takes some 100 KiB of memory.
  // While all are left behind, further works wait, and are given up with one of their paths.
  explicit FileThreads(std::size_t most_threads = 128);
  ~FileThreads();  // only after Close
  FileThreads(const FileThreads&) = delete;
  FileThreads& operator=(const FileThreads&) = delete;

  // Returns 0 or a negative libuv error.
  int Open(uv_loop_t* loop);

  // `patience_ms`: from now on; then Done is called with kSetup, naming the path. The work goes on,
  // and later works of its key wait for it, each with its own patience.
  void Do(Key key, Work work, Done done, std::uint64_t patience_ms = kPatienceMs);

  // Returns true while work of this key waits or is done, also if nobody waits for it any more.
  bool Has(Key key) const { return tasks_.contains(key); }

  // Returns the error for work of this key that has been at one path for some time; else nullopt.
  std::optional<Error> Late(Key key) const;

  // Answers all that wait with kClosed, and ends all threads but those that are left behind.
  void Close();

 private:
  struct Task;
  struct Shared;
  using Tasks = std::deque<std::shared_ptr<Task>>;

  static void* Main(void* shared);
  static bool StartThread(const std::shared_ptr<Shared>& shared);
  void Hand(const std::shared_ptr<Task>& task);
  void TakeFinished();
  void GiveUp(const std::shared_ptr<Task>& task);
  CurrentPath::Look LookOf(const Tasks& tasks) const;

  std::size_t most_threads_;
  uv_loop_t* loop_ = nullptr;
  uv_async_t* wake_ = nullptr;  // freed when it is closed
  std::shared_ptr<Shared> shared_;
  std::map<Key, Tasks> tasks_;  // the first of each key is with a thread
};

// Looks of a thread that must have their answer at once. Where a mounted file system may not answer
// (MountTable::AreLocal), each is on a thread of its own, which is left behind if it has not
// answered in time. Any thread.
class BriefLooks {
 public:
  static constexpr std::uint64_t kPatienceMs = 2'000;
  // Threads that may be left behind at once; then each path counts as one that does not answer.
  static constexpr std::size_t kMostLeft = 64;

  // Does the work, which looks at `path` and must own all that it uses. Returns the error of a path
  // that does not answer: at once while an earlier look at it still waits.
  std::optional<Error> Do(const std::string& path, std::function<void()> work,
                          std::uint64_t patience_ms = kPatienceMs);
  // The same, always on another thread.
  std::optional<Error> DoApart(const std::string& path, std::function<void()> work,
                               std::uint64_t patience_ms = kPatienceMs);

  // MountTable::AreLocal: each file system answers.
  bool AreLocal();

  // Returns the mount points of file systems that may not answer (MountTable::FarMountPoints), and
  // have not now. Looks at nothing if there are none.
  std::vector<std::string> Silent(std::uint64_t patience_ms);
  // The same of these mount points.
  std::vector<std::string> SilentOf(const std::vector<std::string>& paths,
                                    std::uint64_t patience_ms);

 private:
  struct Waited;
  static void* Main(void* argument);
  static bool HasAnswered(Waited& look);
  Result<std::shared_ptr<Waited>> Begin(const std::string& path, std::function<void()> work);
  std::optional<Error> Await(const std::string& path, const std::shared_ptr<Waited>& look,
                             std::uint64_t end_ns);

  std::mutex mutex_;  // guards what follows; not held while a look is waited for
  MountTable mounts_;
  std::map<std::string, std::shared_ptr<Waited>> left_;
};

}  // namespace native_runner

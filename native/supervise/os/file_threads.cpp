#include "supervise/os/file_threads.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "policy/text/text.h"

namespace native_runner {

// A mutex with its condition, by libuv: std::condition_variable's timed wait and pthread_detach(3)
// need a newer C library than the package promises.
class Monitor {
 public:
  Monitor() {
    uv_mutex_init(&mutex_);
    uv_cond_init(&changed_);
  }
  ~Monitor() {
    uv_cond_destroy(&changed_);
    uv_mutex_destroy(&mutex_);
  }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // For std::lock_guard and std::unique_lock; the others only while it is locked.
  void lock() { uv_mutex_lock(&mutex_); }
  void unlock() { uv_mutex_unlock(&mutex_); }
  void Wait() { uv_cond_wait(&changed_, &mutex_); }
  void WakeOne() { uv_cond_signal(&changed_); }
  void WakeAll() { uv_cond_broadcast(&changed_); }

  // Waits until `is_true()`, at most until `end_ns` (uv_hrtime). Returns it.
  template <typename Predicate>
  bool WaitUntil(Predicate is_true, std::uint64_t end_ns) {
    while (!is_true()) {
      const std::uint64_t now = uv_hrtime();
      if (now >= end_ns) return false;
      uv_cond_timedwait(&changed_, &mutex_, end_ns - now);
    }
    return true;
  }

 private:
  uv_mutex_t mutex_{};
  uv_cond_t changed_{};
};

namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

// A path that has been looked at for so long is named as the cause of a deadline.
constexpr std::uint64_t kLateMs = 100;

// Idle threads that wait for the next work; further ones end.
constexpr std::size_t kMostIdle = 2;

// Close waits so long for threads to end.
constexpr std::uint64_t kCloseWaitMs = 100;

thread_local CurrentPath* current_path = nullptr;

}  // namespace

bool StartDetached(void* (*main)(void*), void* argument) {
  pthread_attr_t detached;
  if (pthread_attr_init(&detached) != 0) return false;
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);  // per thread on Linux
  pthread_t thread{};
  const bool is_started = pthread_create(&thread, &detached, main, argument) == 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&detached);
  return is_started;
}

void CurrentPath::Set(std::string_view path) {
  const std::lock_guard lock(mutex_);
  look_.path = path;
  look_.since_ns = uv_hrtime();
}

CurrentPath::Look CurrentPath::Get() const {
  const std::lock_guard lock(mutex_);
  return look_;
}

void NotePath(std::string_view path) {
  if (current_path != nullptr) current_path->Set(path);
}

void LookAtPath(const std::string& path) {
  NotePath(path);
  struct statx status {};
  static_cast<void>(statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status));
}

namespace {

// Asks the file system that is mounted there, and mounts none (autofs).
void LookAtMountPoint(const std::string& path) {
  struct statx status {};
  static_cast<void>(
      statx(AT_FDCWD, path.c_str(), AT_NO_AUTOMOUNT | AT_STATX_FORCE_SYNC, STATX_TYPE, &status));
}

}  // namespace

Error Unanswered(const CurrentPath::Look& look) {
  if (look.since_ns == 0) {
    return {ErrorCode::kSetup, "no thread can be started to look at the host's files",
            "raise the limit of threads and processes (RLIMIT_NPROC, pids.max) of the host"};
  }
  const std::uint64_t waited_ms = (uv_hrtime() - look.since_ns) / kNsPerMs;
  const std::string what =
      look.path.empty() ? "the host's files do" : QuotedShort(look.path) + " does";
  return {ErrorCode::kSetup,
          what + " not answer: a look at it has waited for " + std::to_string(waited_ms) + " ms",
          "see that the file system there answers (its server may have stopped), or unmount it"};
}

struct FileThreads::Task {
  Key key = nullptr;
  Work work;
  Done done;  // empty once called; the loop's thread
  CurrentPath path;
  Timer patience;  // the loop's thread
  bool is_handed = false;
};

// Shared with the threads, which may outlive the loop.
struct FileThreads::Shared {
  Monitor monitor;  // guards all that follows
  Tasks ready;
  std::vector<std::shared_ptr<Task>> finished;
  uv_async_t* wake = nullptr;  // nullptr: closed
  std::size_t threads = 0;
  std::size_t idle = 0;
};

FileThreads::FileThreads(std::size_t most_threads)
    : most_threads_(most_threads), shared_(std::make_shared<Shared>()) {}

FileThreads::~FileThreads() = default;

int FileThreads::Open(uv_loop_t* loop) {
  auto wake = std::make_unique<uv_async_t>();
  wake->data = this;
  const int failed = uv_async_init(loop, wake.get(), [](uv_async_t* handle) {
    if (handle->data != nullptr) static_cast<FileThreads*>(handle->data)->TakeFinished();
  });
  if (failed != 0) return failed;
  loop_ = loop;
  wake_ = wake.release();
  shared_->wake = wake_;
  return 0;
}

void FileThreads::Do(Key key, Work work, Done done, std::uint64_t patience_ms) {
  auto task = std::make_shared<Task>();
  task->key = key;
  task->work = std::move(work);
  task->done = std::move(done);
  uv_update_time(loop_);  // the cached time may be old and would end the patience early
  task->patience.Start(loop_, wake_ == nullptr ? 0 : patience_ms, 0,
                       [this, task = std::weak_ptr(task)] {
                         if (const auto late = task.lock()) GiveUp(late);
                       });
  Tasks& tasks = tasks_[key];
  tasks.push_back(task);
  if (wake_ != nullptr && tasks.size() == 1) Hand(task);
}

void FileThreads::Hand(const std::shared_ptr<Task>& task) {
  task->is_handed = true;
  const std::lock_guard lock(shared_->monitor);
  shared_->ready.push_back(task);
  if (shared_->idle >= shared_->ready.size()) {
    shared_->monitor.WakeOne();
  } else if (shared_->threads < most_threads_ && StartThread(shared_)) {
    ++shared_->threads;
  }
  // Else the next thread that has done its work takes it.
}

bool FileThreads::StartThread(const std::shared_ptr<Shared>& shared) {
  auto own = std::make_unique<std::shared_ptr<Shared>>(shared);
  if (!StartDetached(Main, own.get())) return false;
  static_cast<void>(own.release());  // Main deletes it
  return true;
}

void* FileThreads::Main(void* shared) {
  const std::unique_ptr<std::shared_ptr<Shared>> own(static_cast<std::shared_ptr<Shared>*>(shared));
  Shared& mine = **own;
  std::unique_lock lock(mine.monitor);
  while (true) {
    if (mine.ready.empty()) {
      if (mine.wake == nullptr || mine.idle >= kMostIdle) break;
      ++mine.idle;
      mine.monitor.Wait();
      --mine.idle;
      continue;
    }
    std::shared_ptr<Task> task = std::move(mine.ready.front());
    mine.ready.pop_front();
    lock.unlock();
    current_path = &task->path;
    NotePath({});  // it has begun
    task->work();
    current_path = nullptr;
    task->work = nullptr;  // what it owns goes here, not on the loop's thread
    lock.lock();
    if (mine.wake == nullptr) continue;
    mine.finished.push_back(std::move(task));
    uv_async_send(mine.wake);
  }
  --mine.threads;
  mine.monitor.WakeAll();
  return nullptr;
}

void FileThreads::TakeFinished() {
  std::vector<std::shared_ptr<Task>> finished;
  {
    const std::lock_guard lock(shared_->monitor);
    finished.swap(shared_->finished);
  }
  for (const std::shared_ptr<Task>& task : finished) {
    const auto found = tasks_.find(task->key);
    if (found != tasks_.end()) {
      found->second.pop_front();
      if (found->second.empty()) {
        tasks_.erase(found);
      } else {
        Hand(found->second.front());
      }
    }
    task->patience.Stop();
    if (const Done done = std::exchange(task->done, nullptr)) done(std::nullopt);
  }
}

void FileThreads::GiveUp(const std::shared_ptr<Task>& task) {
  task->patience.Stop();
  Error error{ErrorCode::kClosed, "the runner was closed", ""};
  const auto found = tasks_.find(task->key);
  if (found != tasks_.end()) {
    if (wake_ != nullptr) error = Unanswered(LookOf(found->second));
    Tasks& tasks = found->second;
    // One that is with a thread keeps its place, so that no other of its key begins.
    if (!task->is_handed) std::erase(tasks, task);
    if (tasks.empty()) tasks_.erase(found);
  }
  if (const Done done = std::exchange(task->done, nullptr)) done(std::move(error));
}

// Works that wait for a thread wait for the look that has lasted the longest.
CurrentPath::Look FileThreads::LookOf(const Tasks& tasks) const {
  CurrentPath::Look look = tasks.front()->path.Get();
  if (look.since_ns != 0) return look;
  for (const auto& [key, others] : tasks_) {
    CurrentPath::Look other = others.front()->path.Get();
    const bool is_older = look.since_ns == 0 || other.since_ns < look.since_ns;
    if (other.since_ns != 0 && is_older) look = std::move(other);
  }
  return look;
}

std::optional<Error> FileThreads::Late(Key key) const {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return std::nullopt;
  const CurrentPath::Look look = LookOf(found->second);
  if (look.since_ns == 0 || uv_hrtime() - look.since_ns < kLateMs * kNsPerMs) return std::nullopt;
  return Unanswered(look);
}

void FileThreads::Close() {
  if (wake_ == nullptr) return;
  {
    const std::lock_guard lock(shared_->monitor);
    shared_->wake = nullptr;
    shared_->ready.clear();
    shared_->finished.clear();
    shared_->monitor.WakeAll();
    shared_->monitor.WaitUntil([this] { return shared_->threads == 0; },
                               uv_hrtime() + kCloseWaitMs * kNsPerMs);
  }
  wake_->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(wake_, nullptr)),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_async_t*>(closed); });
  for (auto& [key, tasks] : std::exchange(tasks_, {})) {
    for (const std::shared_ptr<Task>& task : tasks)
      GiveUp(task);
  }
}

// Work that somebody waits for, or has waited for.
struct BriefLooks::Waited {
  std::function<void()> work;
  CurrentPath path;
  Monitor monitor;  // guards what follows
  bool is_done = false;
};

void* BriefLooks::Main(void* argument) {
  const std::unique_ptr<std::shared_ptr<Waited>> own(
      static_cast<std::shared_ptr<Waited>*>(argument));
  Waited& mine = **own;
  current_path = &mine.path;
  mine.work();
  current_path = nullptr;
  mine.work = nullptr;
  const std::lock_guard lock(mine.monitor);
  mine.is_done = true;
  mine.monitor.WakeAll();
  return nullptr;
}

bool BriefLooks::HasAnswered(Waited& look) {
  const std::lock_guard lock(look.monitor);
  return look.is_done;
}

bool BriefLooks::AreLocal() {
  const std::lock_guard lock(mutex_);
  return mounts_.AreLocal();
}

std::optional<Error> BriefLooks::Do(const std::string& path, std::function<void()> work,
                                    std::uint64_t patience_ms) {
  if (!AreLocal()) return DoApart(path, std::move(work), patience_ms);
  work();
  return std::nullopt;
}

std::optional<Error> BriefLooks::DoApart(const std::string& path, std::function<void()> work,
                                         std::uint64_t patience_ms) {
  auto begun = Begin(path, std::move(work));
  if (!begun) return begun.error();
  return Await(path, *begun, uv_hrtime() + patience_ms * kNsPerMs);
}

// Begins no second look at a path while an earlier one waits: it would be left behind as well.
Result<std::shared_ptr<BriefLooks::Waited>> BriefLooks::Begin(const std::string& path,
                                                              std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  std::erase_if(left_, [](const auto& left) { return HasAnswered(*left.second); });
  const auto hung = left_.find(path);
  if (hung != left_.end()) return Unanswered(hung->second->path.Get());
  if (left_.size() >= kMostLeft) return Unanswered(left_.begin()->second->path.Get());
  auto waited = std::make_shared<Waited>();
  waited->work = std::move(work);
  waited->path.Set(path);
  auto own = std::make_unique<std::shared_ptr<Waited>>(waited);
  if (!StartDetached(Main, own.get()))
    return Error{ErrorCode::kSetup, "no thread can be started to look at " + QuotedShort(path), ""};
  static_cast<void>(own.release());  // Main deletes it
  return waited;
}

std::optional<Error> BriefLooks::Await(const std::string& path, const std::shared_ptr<Waited>& look,
                                       std::uint64_t end_ns) {
  {
    const std::lock_guard lock(look->monitor);
    if (look->monitor.WaitUntil([&look] { return look->is_done; }, end_ns)) return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  left_[path] = look;
  return Unanswered(look->path.Get());
}

std::vector<std::string> BriefLooks::Silent(std::uint64_t patience_ms) {
  std::vector<std::string> far;
  {
    const std::lock_guard lock(mutex_);
    if (!mounts_.AreLocal()) far = mounts_.FarMountPoints();
  }
  return SilentOf(far, patience_ms);
}

// All are looked at side by side: several that hang cost no more time than one.
std::vector<std::string> BriefLooks::SilentOf(const std::vector<std::string>& paths,
                                              std::uint64_t patience_ms) {
  std::vector<std::string> silent;
  std::map<std::string, std::shared_ptr<Waited>> begun;
  for (const std::string& path : paths) {
    if (begun.contains(path)) continue;
    auto look = Begin(path, [path] { LookAtMountPoint(path); });
    if (look) {
      begun.emplace(path, std::move(*look));
    } else {
      silent.push_back(path);
    }
  }
  const std::uint64_t end_ns = uv_hrtime() + patience_ms * kNsPerMs;
  for (const auto& [path, look] : begun) {
    if (Await(path, look, end_ns)) silent.push_back(path);
  }
  return silent;
}

}  // namespace native_runner

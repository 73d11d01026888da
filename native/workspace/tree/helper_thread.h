#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace native_runner {

// Lets whoever waits for a thread's long work end it early: what reads whole files, or looks at
// many, asks IsStopped() now and then. What it returns once that is true is of no use, and its
// caller returns an error instead. Each thread has its own flag.
class StopScope {
 public:
  // `flag`: set by another thread; nullptr: nobody stops this. Until the end of the scope.
  explicit StopScope(const std::atomic<bool>* flag) : outer_(current_) { current_ = flag; }
  ~StopScope() { current_ = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  // For a thread that does a part of this one's work.
  static const std::atomic<bool>* current() { return current_; }

 private:
  static inline thread_local const std::atomic<bool>* current_ = nullptr;

  const std::atomic<bool>* outer_;
};

inline bool IsStopped() {
  const std::atomic<bool>* flag = StopScope::current();
  return flag != nullptr && *flag;
}

// A thread that does a part of its owner's work, and stops when that is stopped. It is joined when
// this is destroyed. std::thread would end the process where no thread can be started.
class HelperThread {
 public:
  // nullopt: no more threads may be started (EAGAIN of pthread_create(3)), as where commands of the
  // same user have taken all processes. The caller then does that part itself.
  static std::optional<HelperThread> Start(std::function<void()> work) {
    auto task = std::make_unique<Task>(Task{std::move(work), StopScope::current()});
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);                         // signals are for the host's own threads
    sigprocmask(SIG_SETMASK, &all, &before);  // per thread on Linux
    pthread_t thread{};
    const bool is_started = pthread_create(&thread, nullptr, Run, task.get()) == 0;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (!is_started) return std::nullopt;
    return HelperThread(thread, std::move(task));
  }

  ~HelperThread() {
    if (task_) pthread_join(thread_, nullptr);
  }
  HelperThread(HelperThread&&) = default;
  HelperThread& operator=(HelperThread&&) = delete;
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

 private:
  struct Task {
    std::function<void()> work;
    const std::atomic<bool>* stop;
  };

  HelperThread(pthread_t thread, std::unique_ptr<Task> task)
      : thread_(thread), task_(std::move(task)) {}

  static void* Run(void* argument) {
    const auto* task = static_cast<const Task*>(argument);
    const StopScope scope(task->stop);
    task->work();
    return nullptr;
  }

  pthread_t thread_;
  std::unique_ptr<Task> task_;  // none: moved from
};

}  // namespace native_runner

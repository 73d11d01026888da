#pragma once

#include <atomic>

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

}  // namespace native_runner

#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>

namespace native_runner {

// Owners of libuv handles: the destructor closes the handle, and the close callback frees it, so a
// callback never runs on a destroyed object. Supervisor thread only.

// Watches a descriptor owned elsewhere (uv_poll_t). The descriptor may be closed once this object
// is destroyed.
class Poll {
 public:
  using Callback = std::function<void()>;
  Poll() = default;
  ~Poll() { Stop(); }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  // `events`: UV_READABLE or UV_WRITABLE; a hang-up or an error calls back too. Returns 0 or a
  // negative libuv error.
  int Start(uv_loop_t* loop, int descriptor, int events, Callback callback);
  void Stop();
  bool active() const { return handle_ != nullptr; }

 private:
  uv_poll_t* handle_ = nullptr;
  Callback callback_;
};

// A deadline or a repeating check (uv_timer_t), in milliseconds.
class Timer {
 public:
  using Callback = std::function<void()>;
  Timer() = default;
  ~Timer() { Stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void Start(uv_loop_t* loop, std::uint64_t delay_ms, std::uint64_t repeat_ms, Callback callback);
  void Stop();
  bool active() const { return handle_ != nullptr; }

 private:
  uv_timer_t* handle_ = nullptr;
  Callback callback_;
};

}  // namespace native_runner

#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>

namespace native_runner {

// Owners of libuv handles: the destructor closes the handle, and the close callback frees it, so a
// callback never runs on a destroyed object. Supervisor thread only.

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

// Adds the descriptor of a started uv_poll_t to the loop's epoll instance now: libuv does so later,
// and ends the process if the kernel refuses. Returns 0 or a negative libuv error.
int AddToEpoll(uv_loop_t* loop, int descriptor);

// Makes a loop whose own descriptors are in its epoll instance. Returns 0 or a negative libuv
// error.
int InitLoop(uv_loop_t* loop);

// Looks at a descriptor every few milliseconds, without epoll. `events`: as for Watch.
class PolledDescriptor {
 public:
  void Start(uv_loop_t* loop, int descriptor, int events, Timer::Callback callback);
  void Stop() { timer_.Stop(); }
  bool active() const { return timer_.active(); }

 private:
  Timer timer_;
};

// Watches a descriptor owned elsewhere (uv_poll_t). The descriptor may be closed once this object
// is destroyed. Where the kernel takes no further descriptor for epoll(7) it is looked at every few
// milliseconds instead: one command can use up all that its user may have.
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
  bool active() const { return handle_ != nullptr || without_epoll_.active(); }

 private:
  static void OnEvents(uv_poll_t* poll, int status, int events);

  uv_poll_t* handle_ = nullptr;
  Callback callback_;
  PolledDescriptor without_epoll_;
};

}  // namespace native_runner

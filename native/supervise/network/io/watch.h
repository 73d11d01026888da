#pragma once

#include <uv.h>

#include <functional>

namespace native_runner {

// Watches a socket that somebody else owns, for events that change often (uv_poll_t): what is not
// wanted costs no wake-up. Supervisor thread only; the callback may destroy it.
class Watch {
 public:
  using Callback = std::function<void()>;

  Watch() = default;
  ~Watch() { Close(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // False: it can't be watched. Nothing is wanted at first.
  [[nodiscard]] bool Open(uv_loop_t* loop, int descriptor);
  // Whom it calls from now on.
  void set_callback(Callback callback) { callback_ = std::move(callback); }
  // UV_READABLE, UV_WRITABLE, UV_DISCONNECT or 0. With any of them an error or a hang-up calls back
  // too.
  void Want(int events);
  void Close();

 private:
  void Called(int status);

  uv_poll_t* handle_ = nullptr;
  int wanted_ = 0;
  Callback callback_;
};

}  // namespace native_runner

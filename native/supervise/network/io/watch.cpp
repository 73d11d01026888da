#include "supervise/network/io/watch.h"

#include <utility>

namespace native_runner {

bool Watch::Open(uv_loop_t* loop, int descriptor) {
  Close();
  auto* handle = new uv_poll_t;
  if (uv_poll_init(loop, handle, descriptor) != 0) {
    delete handle;  // never registered with the loop
    return false;
  }
  handle->data = this;
  handle_ = handle;
  wanted_ = 0;
  return true;
}

void Watch::Want(int events) {
  if (handle_ == nullptr || events == wanted_) return;
  wanted_ = events;
  if (events == 0) {
    uv_poll_stop(handle_);
    return;
  }
  uv_poll_start(handle_, events, [](uv_poll_t* poll, int status, int) {
    if (auto* self = static_cast<Watch*>(poll->data)) self->Called(status);
  });
}

void Watch::Called(int status) {
  if (status < 0) wanted_ = 0;  // libuv has stopped it: the socket's next call says what it is
  const Callback call = callback_;
  if (call) call();
}

void Watch::Close() {
  if (handle_ == nullptr) return;
  uv_poll_t* handle = std::exchange(handle_, nullptr);
  handle->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(handle),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_poll_t*>(closed); });
}

}  // namespace native_runner

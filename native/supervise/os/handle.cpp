#include "supervise/os/handle.h"

#include <utility>

namespace native_runner {
namespace {

template <typename Handle>
void CloseAndFree(Handle* handle) {
  handle->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(handle),
           [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
}

}  // namespace

int Poll::Start(uv_loop_t* loop, int descriptor, int events, Callback callback) {
  Stop();
  auto* handle = new uv_poll_t;
  int result = uv_poll_init(loop, handle, descriptor);
  if (result != 0) {
    delete handle;  // never registered with the loop
    return result;
  }
  handle->data = this;
  handle_ = handle;
  callback_ = std::move(callback);
  result = uv_poll_start(handle, events, [](uv_poll_t* poll, int, int) {
    if (auto* self = static_cast<Poll*>(poll->data)) {
      const Callback call = self->callback_;  // a copy: the callback may stop or destroy this
      call();
    }
  });
  if (result != 0) Stop();
  return result;
}

void Poll::Stop() {
  if (handle_ != nullptr) CloseAndFree(std::exchange(handle_, nullptr));
}

void Timer::Start(uv_loop_t* loop, std::uint64_t delay_ms, std::uint64_t repeat_ms,
                  Callback callback) {
  Stop();
  handle_ = new uv_timer_t;
  uv_timer_init(loop, handle_);  // never fails
  handle_->data = this;
  callback_ = std::move(callback);
  uv_timer_start(
      handle_,
      [](uv_timer_t* timer) {
        if (auto* self = static_cast<Timer*>(timer->data)) {
          const Callback call = self->callback_;
          call();
        }
      },
      delay_ms, repeat_ms);
}

void Timer::Stop() {
  if (handle_ != nullptr) CloseAndFree(std::exchange(handle_, nullptr));
}

}  // namespace native_runner

#include "supervise/os/handle.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>
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

// libuv finds it there (EEXIST) at the loop's next turn, and sets the events that it wants.
int AddToEpoll(uv_loop_t* loop, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;  // as libuv has it
  const int result = epoll_ctl(uv_backend_fd(loop), EPOLL_CTL_ADD, descriptor, &event);
  return result == 0 || errno == EEXIST ? 0 : -errno;
}

int InitLoop(uv_loop_t* loop) {
  int result = uv_loop_init(loop);
  if (result != 0) return result;
  for (const int own : {loop->async_io_watcher.fd, loop->signal_pipefd[0]}) {
    if (own >= 0 && result == 0) result = AddToEpoll(loop, own);
  }
  if (result != 0) uv_loop_close(loop);
  return result;
}

void PolledDescriptor::Start(uv_loop_t* loop, int descriptor, int events,
                             Timer::Callback callback) {
  constexpr std::uint64_t kEveryMs = 10;
  const short wanted = static_cast<short>(((events & UV_READABLE) != 0 ? POLLIN : 0) |
                                          ((events & UV_WRITABLE) != 0 ? POLLOUT : 0) |
                                          ((events & UV_DISCONNECT) != 0 ? POLLRDHUP : 0));
  timer_.Start(loop, 0, kEveryMs, [descriptor, wanted, callback = std::move(callback)] {
    pollfd look{descriptor, wanted, 0};
    if (poll(&look, 1, 0) <= 0) return;
    const Timer::Callback call = callback;  // a copy: it may stop the timer
    call();
  });
}

void Poll::OnEvents(uv_poll_t* poll, int /*status*/, int /*events*/) {
  if (auto* self = static_cast<Poll*>(poll->data)) {
    const Callback call = self->callback_;  // a copy: the callback may stop or destroy this
    call();
  }
}

int Poll::Start(uv_loop_t* loop, int descriptor, int events, Callback callback) {
  Stop();
  auto* handle = new uv_poll_t;
  int result = uv_poll_init(loop, handle, descriptor);
  if (result == 0) {
    handle->data = this;
    handle_ = handle;
    callback_ = std::move(callback);
    result = uv_poll_start(handle, events, OnEvents);
    if (result == 0) result = AddToEpoll(loop, descriptor);
    if (result == 0) return 0;
    Stop();
    callback = std::move(callback_);
  } else {
    delete handle;  // never registered with the loop
  }
  if (result != UV_ENOSPC && result != UV_ENOMEM) return result;
  without_epoll_.Start(loop, descriptor, events, std::move(callback));
  return 0;
}

void Poll::Stop() {
  without_epoll_.Stop();
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

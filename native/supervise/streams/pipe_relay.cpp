#include "supervise/streams/pipe_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace native_runner {
namespace {

constexpr std::size_t kMoveAtOnce = std::size_t{1} << 20U;  // a pipe holds no more by default
constexpr std::size_t kMuch = std::size_t{256} << 10U;
constexpr int kMoves = 16;  // per wake-up, so that one process cannot starve the other runs

}  // namespace

void PipeRelay::Start(uv_loop_t* loop, int source, int sink, OnEnd on_end) {
  loop_ = loop;
  source_ = source;
  sink_ = sink;
  on_end_ = std::move(on_end);
  Stop();
  for (const int pipe : {source, sink})
    static_cast<void>(fcntl(pipe, F_SETPIPE_SZ, static_cast<int>(kMoveAtOnce)));  // may be refused
  Wait(source_, UV_READABLE);
}

void PipeRelay::Stop() {
  poll_.Stop();
  awaited_ = -1;
}

void PipeRelay::Wait(int descriptor, int events) {
  if (awaited_ == descriptor) return;
  Stop();
  awaited_ = descriptor;
  if (poll_.Start(loop_, descriptor, events, [this] { Continue(); }) != 0) on_end_(End::kFailed);
}

bool PipeRelay::SourceHasBytes() const {
  pollfd source = {.fd = source_, .events = POLLIN, .revents = 0};
  return poll(&source, 1, 0) > 0;
}

void PipeRelay::Continue() {
  for (int move = 0; move < kMoves; ++move) {
    const ssize_t moved =
        splice(source_, nullptr, sink_, nullptr, kMoveAtOnce, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (moved > 0) {
      total_ += static_cast<std::uint64_t>(moved);
      if (static_cast<std::size_t>(moved) < kMuch) return;  // the poll tells of more
      continue;
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && errno == EAGAIN) {
      return SourceHasBytes() ? Wait(sink_, UV_WRITABLE) : Wait(source_, UV_READABLE);
    }
    const int error = moved < 0 ? errno : 0;
    Stop();
    if (moved == 0) return on_end_(End::kSource);
    return on_end_(error == EPIPE ? End::kSink : End::kFailed);
  }
}

}  // namespace native_runner

#include "supervise/streams/input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace native_runner {
namespace {

constexpr std::size_t kPipeAtFirst = std::size_t{64} << 10U;
constexpr int kPipeAtMost = 1 << 20;
constexpr int kWrites = 16;  // per wake-up, so that one run or process cannot starve the others

}  // namespace

bool Feeder::Start(uv_loop_t* loop, Descriptor pipe, std::vector<std::uint8_t> bytes) {
  pipe_ = std::move(pipe);
  bytes_ = std::move(bytes);
  if (bytes_.size() > kPipeAtFirst) {
    static_cast<void>(fcntl(pipe_.get(), F_SETPIPE_SZ, kPipeAtMost));  // may be refused
  }
  return poll_.Start(loop, pipe_.get(), UV_WRITABLE, [this] {
    if (!WriteSome()) Stop();
  }) == 0;
}

void Feeder::Stop() {
  poll_.Stop();
  pipe_.Close();
}

std::vector<std::uint8_t> Feeder::Recall() {
  Stop();
  next_ = 0;
  return std::exchange(bytes_, {});
}

bool Feeder::WriteSome() {
  for (int turn = 0; turn < kWrites; ++turn) {
    if (next_ == bytes_.size()) return false;
    const ssize_t written = write(pipe_.get(), bytes_.data() + next_, bytes_.size() - next_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno == EAGAIN;
    next_ += static_cast<std::size_t>(written);
  }
  return next_ < bytes_.size();
}

void LiveInput::Start(uv_loop_t* loop, Descriptor sink) {
  loop_ = loop;
  sink_ = std::move(sink);
  fcntl(sink_.get(), F_SETFL, fcntl(sink_.get(), F_GETFL) | O_NONBLOCK);
  if (source_ < 0) return;
  relay_.Start(loop_, source_, sink_.get(), [this](PipeRelay::End /*end*/) { sink_.Close(); });
}

void LiveInput::Write(std::vector<std::uint8_t> bytes) {
  if (!sink_.valid() || source_ >= 0) return on_taken_(false);
  bytes_ = std::move(bytes);
  next_ = 0;
  Continue();
}

void LiveInput::Continue() {
  const Progress progress = WriteSome();
  if (progress == Progress::kBlocked) {
    if (poll_.active()) return;
    const auto again = [this] { Continue(); };
    if (poll_.Start(loop_, sink_.get(), UV_WRITABLE, again) == 0) return;
  }
  poll_.Stop();
  bytes_ = {};
  next_ = 0;
  if (progress != Progress::kDone) sink_.Close();
  on_taken_(progress == Progress::kDone);
}

LiveInput::Progress LiveInput::WriteSome() {
  for (int turn = 0; turn < kWrites && next_ < bytes_.size(); ++turn) {
    const ssize_t written = write(sink_.get(), bytes_.data() + next_, bytes_.size() - next_);
    if (written >= 0) {
      next_ += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      return errno == EAGAIN ? Progress::kBlocked : Progress::kGone;
    }
  }
  return next_ < bytes_.size() ? Progress::kBlocked : Progress::kDone;
}

void LiveInput::End() {
  const bool was_open = sink_.valid();
  Stop();
  on_taken_(was_open);
}

void LiveInput::Stop() {
  const bool is_writing = poll_.active();
  poll_.Stop();
  relay_.Stop();
  sink_.Close();
  if (is_writing) on_taken_(false);
}

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

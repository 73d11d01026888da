#include "supervise/streams/capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace native_runner {
namespace {

constexpr int kWidePipe = 1 << 20;                            // the kernel's default ceiling
constexpr std::size_t kDefaultPipe = std::size_t{64} << 10U;  // pipe(7)
constexpr std::size_t kDropAtOnce = std::size_t{1} << 20U;
constexpr int kTurns = 16;  // reads per wake-up, so that one flood can't starve other runs

}  // namespace

bool Capture::Start(uv_loop_t* loop, Descriptor pipe, int null_device) {
  poll_.Stop();  // of an earlier source
  pipe_ = std::move(pipe);
  null_device_ = null_device;
  return poll_.Start(loop, pipe_.get(), UV_READABLE, [this] { OnReadable(); }) == 0;
}

void Capture::OnReadable() {
  for (int turn = 0; turn < kTurns; ++turn) {
    const Progress progress = ReadOnce();
    if (progress == Progress::kEmpty || progress == Progress::kPause) return;
    if (progress == Progress::kEnd) {
      poll_.Stop();
      pipe_.Close();
      return;
    }
  }
}

void Capture::Finish() {
  poll_.Stop();
  if (!pipe_.valid()) return;
  // Bounded by what a pipe can hold, in case a process outside the run still writes. In bytes:
  // where little is kept at the end, each read is small.
  const std::uint64_t most = buffer_.total() + std::uint64_t{2} * kWidePipe;
  while (buffer_.total() < most) {
    const Progress progress = ReadOnce();
    if (progress == Progress::kEmpty || progress == Progress::kEnd) break;
  }
  pipe_.Close();
}

Output::Progress Capture::ReadOnce() {
  const auto [space, room] = buffer_.Space();
  if (room == 0) return DropOnce();
  const ssize_t got = read(pipe_.get(), space, room);
  if (got > 0) {
    const auto size = static_cast<std::size_t>(got);
    Keep(space, size);
    if (size >= kDefaultPipe && !widened_) WidenPipe();
    // Most often the pipe is empty now, and the poll tells when it is not. (A command may have put
    // it into packet mode, pipe(2) O_DIRECT, where each read is short.)
    return size < room && size < kDefaultPipe ? Progress::kPause : Progress::kMore;
  }
  return AfterFailure(got);
}

Output::Progress Capture::DropOnce() {
  if (!widened_) WidenPipe();
  if (!remembers_all()) {  // limit 0: keep a set-up's complaint all the same
    std::array<std::uint8_t, kOpeningBytes> piece{};
    const ssize_t got = read(pipe_.get(), piece.data(), kOpeningBytes - opening().size());
    if (got <= 0) return AfterFailure(got);
    Remember(piece.data(), static_cast<std::size_t>(got));
    buffer_.Skip(static_cast<std::uint64_t>(got));
    return Progress::kMore;
  }
  const ssize_t moved = splice(pipe_.get(), nullptr, null_device_, nullptr, kDropAtOnce,
                               SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (moved > 0) {
    buffer_.Skip(static_cast<std::uint64_t>(moved));
    return Progress::kMore;
  }
  return AfterFailure(moved);
}

void Capture::Keep(const std::uint8_t* data, std::size_t size) {
  Remember(data, size);
  if (on_chunk_ && !buffer_.full()) on_chunk_(data, size);
  buffer_.Commit(size);
}

void Capture::Append(std::string_view text) {
  while (!text.empty()) {
    const auto [space, room] = buffer_.Space();
    const std::size_t count = std::min(room, text.size());
    if (count == 0) {
      buffer_.Skip(text.size());
      return;
    }
    std::memcpy(space, text.data(), count);
    Keep(space, count);
    text.remove_prefix(count);
  }
}

void Capture::WidenPipe() {
  widened_ = true;
  // May be refused (pipe-user-pages-soft in pipe(7)): then it stays as it is.
  static_cast<void>(fcntl(pipe_.get(), F_SETPIPE_SZ, kWidePipe));
}

}  // namespace native_runner

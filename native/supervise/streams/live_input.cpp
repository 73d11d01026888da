#include "supervise/streams/live_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace native_runner {
namespace {

constexpr int kTurns = 16;  // writes per wake-up, so that one process can't starve the others

}  // namespace

void LiveInput::Start(uv_loop_t* loop, Descriptor sink) {
  loop_ = loop;
  sink_ = std::move(sink);
  fcntl(sink_.get(), F_SETFL, fcntl(sink_.get(), F_GETFL) | O_NONBLOCK);
}

void LiveInput::Write(std::vector<std::uint8_t> bytes) {
  if (!sink_.valid()) return news_(false);
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
  news_(progress == Progress::kDone);
}

LiveInput::Progress LiveInput::WriteSome() {
  for (int turn = 0; turn < kTurns && next_ < bytes_.size(); ++turn) {
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
  news_(was_open);
}

void LiveInput::Stop() {
  const bool is_writing = poll_.active();
  poll_.Stop();
  sink_.Close();
  if (is_writing) news_(false);
}

}  // namespace native_runner

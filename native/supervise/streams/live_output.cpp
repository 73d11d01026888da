#include "supervise/streams/live_output.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace native_runner {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
constexpr std::uint64_t kMostLeft = std::uint64_t{2} << 20U;  // twice what a pipe can hold

}  // namespace

bool LiveOutput::Start(uv_loop_t* loop, Descriptor source, int /*null_device*/) {
  poll_.Stop();  // of an earlier source
  if (is_refused_) return true;
  loop_ = loop;
  source_ = std::move(source);
  piece_.resize(kPieceBytes);
  return Watch();
}

bool LiveOutput::Watch() {
  return poll_.Start(loop_, source_.get(), UV_READABLE, [this] { OnReadable(); }) == 0;
}

void LiveOutput::OnReadable() {
  const std::size_t room = std::min<std::uint64_t>(window_, piece_.size());
  const Progress progress = Fill(room);
  if (window_ != kNoWindow) window_ -= filled_;
  HandOn();
  if (progress == Progress::kEnd) return Stop();
  // A hang-up would wake us again and again.
  if (window_ == 0) poll_.Stop();
}

// A terminal gives 4 KiB at a time, a pipe what was written: one message for many of those.
Output::Progress LiveOutput::Fill(std::size_t room) {
  while (filled_ < room) {
    const ssize_t got = read(source_.get(), piece_.data() + filled_, room - filled_);
    if (got > 0) {
      filled_ += static_cast<std::size_t>(got);
      continue;
    }
    const Progress progress = AfterFailure(got);
    if (progress != Progress::kMore) return progress;
  }
  return Progress::kMore;
}

void LiveOutput::HandOn() {
  if (filled_ == 0) return;
  total_ += filled_;
  Remember(piece_.data(), filled_);
  on_chunk_(piece_.data(), std::exchange(filled_, 0));
}

void LiveOutput::Grant(std::uint64_t bytes) {
  if (window_ == kNoWindow) return;
  const bool was_paused = window_ == 0;
  window_ += std::min(bytes, kWindowBytes - std::min(window_, kWindowBytes));
  if (was_paused && window_ != 0 && source_.valid()) static_cast<void>(Watch());
}

void LiveOutput::Close() {
  is_refused_ = true;
  Stop();
}

void LiveOutput::Stop() {
  poll_.Stop();
  source_.Close();
}

void LiveOutput::Finish() {
  poll_.Stop();
  const std::uint64_t most = total_ + kMostLeft;  // in case a process outside the run still writes
  while (source_.valid() && total_ < most) {
    const Progress progress = Fill(piece_.size());
    HandOn();
    if (progress != Progress::kMore) break;
  }
  Stop();
}

void LiveOutput::Append(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  total_ += text.size();
  Remember(bytes, text.size());
  on_chunk_(bytes, text.size());
}

}  // namespace native_runner

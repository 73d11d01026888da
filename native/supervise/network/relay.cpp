#include "supervise/network/relay.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace native_runner {

std::optional<PipeEnds> PipePool::Take() {
  if (!kept_.empty()) {
    PipeEnds pipe = std::move(kept_.back());
    kept_.pop_back();
    return pipe;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  static_cast<void>(fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes));  // may fail: fewer bytes per turn
  return PipeEnds{Descriptor(ends[0]), Descriptor(ends[1])};
}

void PipePool::Give(PipeEnds pipe) {
  if (kept_.size() < kMostKept) kept_.push_back(std::move(pipe));
}

namespace {

constexpr std::size_t kCopyBytes = std::size_t{64} << 10U;

bool WouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

Pump::Needs Pump::Move() {
  const std::uint64_t most = moved_ + kTurnBytes;
  while (!has_ended_) {
    const bool is_loaded = in_pipe_ > 0 || !kept_.empty();
    if (!is_loaded && moved_ >= most) break;
    const Step step = is_loaded ? Empty() : Fill();
    if (step == Step::kWait) {
      if (!is_loaded) LeavePipe();
      return is_loaded ? Needs::kRoom : Needs::kMore;
    }
  }
  LeavePipe();
  return has_ended_ ? Needs::kNothing : Needs::kTurn;
}

Pump::Needs Pump::Flush() {
  while (!has_ended_ && (in_pipe_ > 0 || !kept_.empty())) {
    if (Empty() == Step::kWait) return Needs::kRoom;
  }
  return has_ended_ ? Needs::kNothing : Needs::kMore;
}

Pump::Step Pump::Fill() {
  if (is_spliced_ && !pipe_) pipe_ = pipes_->Take();
  if (!is_spliced_ || !pipe_) return FillKept();
  ssize_t size = 0;
  do {
    size = splice(from_, nullptr, pipe_->write.get(), nullptr, PipePool::kPipeBytes,
                  SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  } while (size < 0 && errno == EINTR);
  if (size > 0) {
    in_pipe_ = static_cast<std::size_t>(size);
    return Step::kDone;
  }
  if (size == 0) {
    has_ended_ = true;
    static_cast<void>(shutdown(to_, SHUT_WR));
    return Step::kOver;
  }
  if (WouldBlock(errno)) return Step::kWait;
  if (errno != EINVAL && errno != ENOSYS) return SourceBroken();
  is_spliced_ = false;
  LeavePipe();
  return FillKept();
}

Pump::Step Pump::FillKept() {
  std::array<char, kCopyBytes> part{};
  ssize_t size = 0;
  do {
    size = recv(from_, part.data(), part.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return WouldBlock(errno) ? Step::kWait : SourceBroken();
  if (size == 0) {
    has_ended_ = true;
    static_cast<void>(shutdown(to_, SHUT_WR));
    return Step::kOver;
  }
  kept_.assign(part.data(), static_cast<std::size_t>(size));
  kept_sent_ = 0;
  return Step::kDone;
}

Pump::Step Pump::Empty() {
  if (!kept_.empty()) return SendKept();
  const ssize_t size =
      splice(pipe_->read.get(), nullptr, to_, nullptr, in_pipe_, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (size < 0) {
    if (errno == EINTR) return Step::kDone;
    return WouldBlock(errno) ? Step::kWait : Broken();
  }
  if (size == 0) return Broken();
  in_pipe_ -= static_cast<std::size_t>(size);
  moved_ += static_cast<std::uint64_t>(size);
  return Step::kDone;
}

Pump::Step Pump::SendKept() {
  const ssize_t size =
      send(to_, kept_.data() + kept_sent_, kept_.size() - kept_sent_, MSG_NOSIGNAL);
  if (size < 0) {
    if (errno == EINTR) return Step::kDone;
    return WouldBlock(errno) ? Step::kWait : Broken();
  }
  kept_sent_ += static_cast<std::size_t>(size);
  moved_ += static_cast<std::uint64_t>(size);
  if (kept_sent_ == kept_.size()) std::string().swap(kept_);
  return Step::kDone;
}

Pump::Step Pump::Broken() {
  has_ended_ = true;
  is_broken_ = true;
  return Step::kOver;
}

Pump::Step Pump::SourceBroken() {
  is_source_broken_ = true;
  return Broken();
}

void Pump::LeavePipe() {
  if (!pipe_) return;
  if (in_pipe_ == 0) pipes_->Give(std::move(*pipe_));
  pipe_.reset();
  in_pipe_ = 0;
}

namespace {

// Turns for the data that a command had sent before it ended; they cover more than the kernel
// buffers per connection.
constexpr int kDrainTurns = 64;

bool IsReadable(Pump::Needs needs) {
  return needs == Pump::Needs::kMore || needs == Pump::Needs::kTurn;
}

}  // namespace

void Relay::Start(OnChange on_change) {
  on_change_ = std::move(on_change);
  client_.set_callback([this] { MoveBoth(); });
  host_.set_callback([this] { MoveBoth(); });
  MoveBoth();
}

Pump::Needs Relay::MoveIn() {
  while (gate_) {
    if (const Pump::Needs needs = in_.Flush(); needs != Pump::Needs::kMore) return needs;
    const Passes passes = gate_(&host_);
    if (passes == Passes::kNothing) return Pump::Needs::kMore;
    in_.Give(std::exchange(host_.input, {}));
    if (passes == Passes::kAll) gate_ = nullptr;
  }
  return in_.Move();
}

SocketStream Relay::TakeHost() {
  has_ended_ = true;
  client_.Close();
  return std::move(host_);
}

void Relay::MoveBoth() {
  const Pump::Needs out = out_.Move();
  const Pump::Needs in = MoveIn();
  // A broken target may have sent data before, which the other direction still passes on until it
  // ends. With a broken source there is nothing left to do.
  has_ended_ =
      (out_.has_ended() && in_.has_ended()) || out_.is_source_broken() || in_.is_source_broken();
  if (has_ended_) {
    const bool is_broken = out_.is_broken() || in_.is_broken();
    if (is_broken) {
      client_.Reset();
      host_.Reset();
    } else {
      client_.Close();
      host_.Close();
    }
  } else {
    client_.Want((IsReadable(out) ? UV_READABLE : 0) |
                 (in == Pump::Needs::kRoom ? UV_WRITABLE : 0));
    host_.Want((IsReadable(in) ? UV_READABLE : 0) | (out == Pump::Needs::kRoom ? UV_WRITABLE : 0));
  }
  const OnChange on_change = on_change_;
  if (on_change) on_change();
}

void Relay::Drain() {
  for (int turn = 0; turn < kDrainTurns && out_.Move() == Pump::Needs::kTurn; ++turn) {
  }
  has_ended_ = true;
  client_.Close();
  host_.Close();
}

}  // namespace native_runner

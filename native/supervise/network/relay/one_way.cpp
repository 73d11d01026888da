#include "supervise/network/relay/one_way.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace native_runner {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{64} << 10U;

bool WouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

OneWay::Needs OneWay::Pump() {
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

OneWay::Step OneWay::Fill() {
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

OneWay::Step OneWay::FillKept() {
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

OneWay::Step OneWay::Empty() {
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

OneWay::Step OneWay::SendKept() {
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

OneWay::Step OneWay::Broken() {
  has_ended_ = true;
  is_broken_ = true;
  return Step::kOver;
}

OneWay::Step OneWay::SourceBroken() {
  is_source_broken_ = true;
  return Broken();
}

void OneWay::LeavePipe() {
  if (!pipe_) return;
  if (in_pipe_ == 0) pipes_->Give(std::move(*pipe_));
  pipe_.reset();
  in_pipe_ = 0;
}

}  // namespace native_runner

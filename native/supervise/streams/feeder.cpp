#include "supervise/streams/feeder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace native_runner {
namespace {

constexpr std::size_t kDefaultPipe = std::size_t{64} << 10U;
constexpr int kWidePipe = 1 << 20;
constexpr int kTurns = 16;  // writes per wake-up, so that one run can't starve the others

}  // namespace

bool Feeder::Start(uv_loop_t* loop, Descriptor pipe, std::vector<std::uint8_t> bytes) {
  pipe_ = std::move(pipe);
  bytes_ = std::move(bytes);
  if (bytes_.size() > kDefaultPipe) {
    static_cast<void>(fcntl(pipe_.get(), F_SETPIPE_SZ, kWidePipe));  // may be refused
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
  for (int turn = 0; turn < kTurns; ++turn) {
    if (next_ == bytes_.size()) return false;
    const ssize_t written = write(pipe_.get(), bytes_.data() + next_, bytes_.size() - next_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno == EAGAIN;
    next_ += static_cast<std::size_t>(written);
  }
  return next_ < bytes_.size();
}

}  // namespace native_runner

#include "supervise/network/io/socket_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "supervise/network/io/endpoint.h"

namespace native_runner {

bool SocketStream::Open(uv_loop_t* loop) {
  watch_ = std::make_unique<Watch>();
  return watch_->Open(loop, socket_.get());
}

SocketStream::ReadState SocketStream::Read(std::size_t most) {
  std::array<char, std::size_t{16} << 10U> part{};
  if (input.size() >= most) return ReadState::kNothing;
  ssize_t size = 0;
  do {
    size = recv(socket_.get(), part.data(), std::min(part.size(), most - input.size()), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    return errno == EAGAIN || errno == EWOULDBLOCK ? ReadState::kNothing : ReadState::kError;
  }
  if (size == 0) return ReadState::kEnd;
  input.append(part.data(), static_cast<std::size_t>(size));
  return ReadState::kSome;
}

bool SocketStream::Flush() {
  std::size_t done = 0;
  while (done < output.size()) {
    const ssize_t size =
        send(socket_.get(), output.data() + done, output.size() - done, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      output.erase(0, done);
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    done += static_cast<std::size_t>(size);
    sent_ += static_cast<std::uint64_t>(size);
  }
  output.clear();
  return true;
}

bool SocketStream::IsGone() const {
  pollfd asked = {.fd = socket_.get(), .events = 0, .revents = 0};
  return poll(&asked, 1, 0) > 0 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

void SocketStream::ShutWrite() {
  static_cast<void>(shutdown(socket_.get(), SHUT_WR));
}

void SocketStream::Close() {
  watch_.reset();
  socket_.Close();
}

void SocketStream::Reset() {
  watch_.reset();
  if (socket_.valid()) ResetConnection(std::move(socket_));
}

Descriptor SocketStream::Release() {
  watch_.reset();
  return std::move(socket_);
}

}  // namespace native_runner

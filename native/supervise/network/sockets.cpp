#include "supervise/network/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace native_runner {

bool Watch::Open(uv_loop_t* loop, int descriptor) {
  Close();
  auto* handle = new uv_poll_t;
  if (uv_poll_init(loop, handle, descriptor) != 0) {
    delete handle;  // never registered with the loop
    return false;
  }
  descriptor_ = descriptor;
  handle->data = this;
  handle_ = handle;
  wanted_ = 0;
  return true;
}

void Watch::Want(int events) {
  if (handle_ == nullptr || events == wanted_) return;
  wanted_ = events;
  without_epoll_.Stop();
  if (events == 0) {
    uv_poll_stop(handle_);
    return;
  }
  uv_poll_start(handle_, events, [](uv_poll_t* poll, int status, int) {
    if (auto* self = static_cast<Watch*>(poll->data)) self->Called(status);
  });
  if (AddToEpoll(handle_->loop, descriptor_) == 0) return;
  uv_poll_stop(handle_);
  without_epoll_.Start(handle_->loop, descriptor_, events, [this] { Called(0); });
}

void Watch::Called(int status) {
  if (status < 0) wanted_ = 0;  // libuv stopped polling; the next socket call returns the error
  const Callback call = callback_;
  if (call) call();
}

void Watch::Close() {
  without_epoll_.Stop();
  if (handle_ == nullptr) return;
  uv_poll_t* handle = std::exchange(handle_, nullptr);
  handle->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(handle),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_poll_t*>(closed); });
}

bool LeavesDescriptors(int descriptor) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return static_cast<rlim_t>(descriptor) < limit.rlim_cur - limit.rlim_cur / 4;
}

namespace {

constexpr int kKeepAliveIdleSeconds = 60;
constexpr int kKeepAliveIntervalSeconds = 30;

void SetOption(int socket, int level, int option, int value) {
  static_cast<void>(setsockopt(socket, level, option, &value, sizeof value));
}

}  // namespace

SocketAddress::SocketAddress(const Endpoint& endpoint) {
  const auto bytes = endpoint.address.bytes();
  if (endpoint.address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&storage, &v4, sizeof v4);
    size = sizeof v4;
    return;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(endpoint.port);
  std::memcpy(&v6.sin6_addr, bytes.data(), sizeof v6.sin6_addr);
  std::memcpy(&storage, &v6, sizeof v6);
  size = sizeof v6;
}

std::optional<Endpoint> EndpointOf(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return Endpoint{.address = IpAddress::V4(ntohl(v4.sin_addr.s_addr)),
                    .port = ntohs(v4.sin_port)};
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  IpAddress::V6Bytes bytes{};
  std::copy(std::begin(v6.sin6_addr.s6_addr), std::end(v6.sin6_addr.s6_addr), bytes.begin());
  return Endpoint{.address = IpAddress::V6(bytes), .port = ntohs(v6.sin6_port)};
}

std::optional<Endpoint> LocalEndpoint(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(socket, address, &size) != 0) return std::nullopt;
  return EndpointOf(address);
}

void ResetConnection(Descriptor socket) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  static_cast<void>(setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
}

void SetNoDelay(int socket) {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

void SetKeepAlive(int socket) {
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

bool SocketStream::Open(uv_loop_t* loop) {
  watch_ = std::make_unique<Watch>();
  return watch_->Open(loop, socket_.get());
}

namespace {

constexpr std::size_t kPartBytes = std::size_t{16} << 10U;

SocketStream::ReadState ReadStateOf(ssize_t received) {
  if (received > 0) return SocketStream::ReadState::kSome;
  if (received == 0) return SocketStream::ReadState::kEnd;
  const bool is_nothing = errno == EAGAIN || errno == EWOULDBLOCK;
  return is_nothing ? SocketStream::ReadState::kNothing : SocketStream::ReadState::kError;
}

ssize_t Receive(int socket, char* bytes, std::size_t size, int flags) {
  ssize_t received = 0;
  do {
    received = recv(socket, bytes, size, flags);
  } while (received < 0 && errno == EINTR);
  return received;
}

}  // namespace

SocketStream::ReadState SocketStream::Read(std::size_t most) {
  std::array<char, kPartBytes> part{};
  if (input.size() >= most) return ReadState::kNothing;
  const ssize_t size =
      Receive(socket_.get(), part.data(), std::min(part.size(), most - input.size()), 0);
  if (size > 0) input.append(part.data(), static_cast<std::size_t>(size));
  return ReadStateOf(size);
}

SocketStream::ReadState SocketStream::Discard() {
  input.clear();
  std::array<char, kPartBytes> part{};  // for a kernel that knows nothing of MSG_TRUNC on TCP
  return ReadStateOf(Receive(socket_.get(), part.data(), part.size(), MSG_TRUNC));
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

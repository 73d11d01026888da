#include "tests/supervise/network/support/peers.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "policy/network/ip_address.h"

namespace native_runner {
namespace {

constexpr int kGenerousMs = 30'000;

SocketAddress Address(const char* address, std::uint16_t port) {
  return SocketAddress({.address = *ParseIpAddress(address), .port = port});
}

Descriptor Bound(const char* address, std::uint16_t port, int type) {
  const SocketAddress at = Address(address, port);
  Descriptor socket(::socket(at.storage.ss_family, type | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  EXPECT_EQ(bind(socket.get(), at.get(), at.size), 0) << address << " " << port << " " << errno;
  return socket;
}

}  // namespace

Peer::Peer(Descriptor socket) : socket_(std::move(socket)) {
  SetNoDelay(socket_.get());
}

Peer::Peer(const char* address, std::uint16_t port) {
  const SocketAddress at = Address(address, port);
  socket_ = Descriptor(socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket_.get(), at.get(), at.size) != 0) {
    is_reset_ = errno == ECONNRESET;
    if (!is_reset_) socket_.Close();
    return;
  }
  SetNoDelay(socket_.get());
}

bool Peer::Send(const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t size =
        send(socket_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (size <= 0) return false;
    done += static_cast<std::size_t>(size);
  }
  return true;
}

Received Peer::ReadSome(std::size_t most) {
  Received received;
  received.is_reset = is_reset_;
  if (is_reset_) return received;
  pollfd asked = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (poll(&asked, 1, kGenerousMs) != 1) {
    received.is_late = true;
    return received;
  }
  std::string part(most, '\0');
  const ssize_t size = recv(socket_.get(), part.data(), part.size(), 0);
  if (size < 0) received.is_reset = true;
  if (size > 0) received.bytes = part.substr(0, static_cast<std::size_t>(size));
  return received;
}

Received Peer::ReadTo(const std::string& end) {
  Received all;
  std::array<char, 65536> ahead{};
  while (end.empty() || !all.bytes.ends_with(end)) {
    std::size_t most = ahead.size();
    pollfd asked = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (!end.empty() && poll(&asked, 1, kGenerousMs) == 1) {
      // Bytes after the end stay for the next read.
      const ssize_t size = recv(socket_.get(), ahead.data(), ahead.size(), MSG_PEEK);
      const std::size_t kept = std::min(all.bytes.size(), end.size() - 1);
      const std::string seen =
          all.bytes.substr(all.bytes.size() - kept) +
          std::string(ahead.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
      const std::size_t at = seen.find(end);
      if (at != std::string::npos) most = at + end.size() - kept;
    }
    Received part = ReadSome(most);
    all.bytes += part.bytes;
    all.is_reset = part.is_reset;
    all.is_late = part.is_late;
    if (part.bytes.empty()) break;
  }
  return all;
}

std::string Peer::ReadExactly(std::size_t size) {
  std::string all;
  while (all.size() < size) {
    const Received part = ReadSome(size - all.size());
    if (part.bytes.empty()) break;
    all += part.bytes;
  }
  return all;
}

Received Peer::ReadAll() {
  return ReadTo("");
}

void Peer::ShutWrite() {
  shutdown(socket_.get(), SHUT_WR);
}

Descriptor ListenAt(const char* address, std::uint16_t port, int backlog) {
  Descriptor socket = Bound(address, port, SOCK_STREAM);
  EXPECT_EQ(listen(socket.get(), backlog), 0);
  return socket;
}

Descriptor UdpAt(const char* address, std::uint16_t port) {
  return Bound(address, port, SOCK_DGRAM);
}

std::uint16_t PortOf(const Descriptor& socket) {
  return LocalEndpoint(socket.get())->port;
}

FullListener::FullListener(const char* address, std::uint16_t port)
    : listener_(ListenAt(address, port, 0)) {
  constexpr int kMoreThanItTakes = 8;
  const SocketAddress at = Address(address, PortOf(listener_));
  for (int i = 0; i < kMoreThanItTakes; ++i) {
    waiting_.emplace_back(
        socket(at.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    static_cast<void>(connect(waiting_.back().get(), at.get(), at.size));
  }
}

TestServer::TestServer(Serve serve, const char* address)
    : listener_(ListenAt(address, 0)), port_(PortOf(listener_)), serve_(std::move(serve)) {
  acceptor_ = std::thread([this] {
    while (true) {
      Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid() && errno == EMFILE) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        continue;
      }
      if (!socket.valid()) return;
      const std::lock_guard lock(mutex_);
      ++accepted_;
      threads_.emplace_back([this, fd = std::make_shared<Descriptor>(std::move(socket))] {
        serve_(Peer(std::move(*fd)));
      });
    }
  });
}

TestServer::~TestServer() {
  shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_)
    thread.join();
}

int TestServer::accepted() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

bool TestServer::HasAccepted(int count) const {
  for (int waited = 0; accepted() < count && waited < kGenerousMs; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return accepted() == count;
}

void Echo(Peer peer) {
  while (true) {
    const Received part = peer.ReadSome(65536);
    if (part.bytes.empty() || !peer.Send(part.bytes)) return;
  }
}

}  // namespace native_runner

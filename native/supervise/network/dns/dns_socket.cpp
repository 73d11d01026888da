#include "supervise/network/dns/dns_socket.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace native_runner {
namespace {

constexpr int kBatch = 64;  // a wake-up, so that questions can't starve connections
constexpr std::size_t kMostQuestionBytes = 4096;

}  // namespace

bool DnsSocket::Start(uv_loop_t* loop) {
  if (!watch_.Open(loop, socket_.get())) return false;
  watch_.set_callback([this] { AnswerSome(); });
  watch_.Want(UV_READABLE);
  return true;
}

bool DnsSocket::AnswerSome() {
  std::array<std::uint8_t, kMostQuestionBytes> message{};
  for (int count = 0; count < kBatch; ++count) {
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    auto* address = reinterpret_cast<sockaddr*>(&peer);
    const ssize_t size = recvfrom(socket_.get(), message.data(), message.size(),
                                  MSG_DONTWAIT | MSG_TRUNC, address, &peer_size);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (size < 0 || static_cast<std::size_t>(size) > message.size()) continue;
    const auto answer =
        responder_->Answer({message.data(), static_cast<std::size_t>(size)}, DnsTransport::kUdp);
    if (!answer) continue;
    static_cast<void>(sendto(socket_.get(), answer->data(), answer->size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL, address, peer_size));
  }
  return true;
}

}  // namespace native_runner

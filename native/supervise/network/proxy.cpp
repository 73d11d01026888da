#include "supervise/network/proxy.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "policy/network/network_rules.h"
#include "policy/text/text.h"
#include "supervise/network/http_conversation.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/network/tunnel.h"

namespace native_runner {
namespace {

constexpr unsigned kStatusForbidden = 403;
constexpr unsigned kBadGateway = 502;
constexpr unsigned kGatewayTimeout = 504;

// RFC 9110 15, for the codes sent here.
const char* StatusText(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case kStatusForbidden:
      return "Forbidden";
    case 408:
      return "Request Timeout";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case kBadGateway:
      return "Bad Gateway";
    case kGatewayTimeout:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Refused";
  }
}

}  // namespace

std::string RefusalText(const NamedHost& host, std::uint16_t port, std::string_view reason) {
  const std::string whom = HostText(host) + ":" + std::to_string(port);
  if (reason == VerdictReasonText(VerdictReason::kNoRule) ||
      reason == VerdictReasonText(VerdictReason::kPort)) {
    return "no rule allows " + whom;
  }
  return whom + " is refused: " + std::string(reason);
}

std::string HttpRefusal(unsigned status, std::string_view text) {
  const std::string body = "native-runner: " + std::string(text) + "\n";
  return "HTTP/1.1 " + std::to_string(status) + " " + StatusText(status) +
         "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

unsigned HttpStatusOf(DialState state) {
  if (state == DialState::kNotPermitted) return kStatusForbidden;
  return state == DialState::kTimedOut ? kGatewayTimeout : kBadGateway;
}

SocksReply SocksReplyOf(DialState state) {
  switch (state) {
    case DialState::kConnected:
      return SocksReply::kSucceeded;
    case DialState::kNotPermitted:
      return SocksReply::kNotAllowed;
    case DialState::kRefused:
      return SocksReply::kConnectionRefused;
    case DialState::kUnresolved:
    case DialState::kUnreachable:
    case DialState::kTimedOut:
      return SocksReply::kHostUnreachable;
    case DialState::kFailed:
      break;
  }
  return SocksReply::kFailure;
}

namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 10U;

std::span<const std::uint8_t> SocksBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

const char* SocksFaultText(SocksReply reply) {
  switch (reply) {
    case SocksReply::kCommandNotSupported:
      return "of SOCKS commands only CONNECT is there";
    case SocksReply::kAddressNotSupported:
      return "its SOCKS address is of an unknown kind";
    default:
      return "its SOCKS request names no host";
  }
}

}  // namespace

void ProxyFront::Start() {
  TimeOutIn(parts().options->head_ms);
  client_.set_callback([this] { Step(); });
  client_.Want(UV_READABLE);
  Step();
}

void ProxyFront::Step() {
  const std::size_t share = parts().head_share->Left();
  if (share == 0) return;  // its socket calls back in the next turn of the loop
  const SocketStream::ReadState read = client_.Read(std::min(kMostBytes, share));
  if (is_greeted_) {
    ReadSocks();
  } else if (!client_.input.empty()) {
    switch (ProxyProtocolOf(static_cast<std::uint8_t>(client_.input.front()))) {
      case ProxyProtocol::kHttp:
        return Become(std::make_unique<HttpConversation>(&parts(), connections(), started_ns(),
                                                         std::move(client_), std::nullopt));
      case ProxyProtocol::kSocks5:
        ReadSocks();
        break;
      case ProxyProtocol::kOther:
        return Refuse("it speaks neither HTTP nor SOCKS 5");
    }
  }
  if (!client_.valid()) return;  // another stage owns it now
  if (read == SocketStream::ReadState::kEnd || read == SocketStream::ReadState::kError) Over();
}

void ProxyFront::ReadSocks() {
  if (!is_greeted_) {
    const SocksGreeting greeting = ReadSocksGreeting(SocksBytes(client_.input));
    if (greeting.state == SocksState::kNeedsMore) return;
    if (greeting.state == SocksState::kMalformed) return Refuse("its SOCKS greeting is malformed");
    const auto method = EncodeSocksMethod(greeting.offers_none);
    client_.output.append(method.begin(), method.end());
    client_.input.erase(0, greeting.size);
    if (!greeting.offers_none) return Refuse("its SOCKS client wants to log in");
    is_greeted_ = true;
    if (!client_.Flush()) return Over();
  }
  const SocksRequest request = ReadSocksRequest(SocksBytes(client_.input));
  if (request.state == SocksState::kNeedsMore) return;
  if (request.state == SocksState::kMalformed) return RefuseSocks(request);
  client_.input.erase(0, request.size);
  if (request.reply != SocksReply::kSucceeded) return RefuseSocks(request);
  Become(std::make_unique<Tunnel>(&parts(), connections(), started_ns(), std::move(client_),
                                  request.host, request.port, ConnectionVia::kSocks));
}

void ProxyFront::RefuseSocks(const SocksRequest& request) {
  ConnectionRecord record;
  const auto host = ParseHost(request.asked);
  record.host = host ? HostText(host.value()) : QuotedShort(request.asked);
  record.port = request.port;
  record.reason = SocksFaultText(request.reply);
  record.via = ConnectionVia::kSocks;
  parts().recorder->Refused(record);
  const auto reply = EncodeSocksReply(request.reply);
  client_.output.append(reply.begin(), reply.end());
  LingerAndClose();
}

void ProxyFront::Refuse(const std::string& reason) {
  ConnectionRecord record;
  record.host = "127.0.0.1";
  record.port = kProxyPort;
  record.reason = reason;
  record.via = ConnectionVia::kSocks;
  parts().recorder->Refused(record);
  LingerAndClose();
}

void ProxyFront::LingerAndClose() {
  Become(
      std::make_unique<LingeringClose>(&parts(), connections(), started_ns(), std::move(client_)));
}

void ProxyFront::TimedOut() {
  Refuse("its head did not come in time");
}

void ProxyFront::Over() {
  client_.Close();
  End();
}

namespace {

constexpr int kMostAccepted = 64;  // per wake-up
constexpr std::uint64_t kRestMs = 100;

Descriptor SpareDescriptor() {
  return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

Descriptor Accept(int listener) {
  return Descriptor(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool IsExhausted(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// True for errors of the single connection to accept (accept(2)).
bool IsOfOne(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM;
}

}  // namespace

bool Acceptor::Start(uv_loop_t* loop) {
  loop_ = loop;
  spare_ = SpareDescriptor();
  const int flags = fcntl(listener_.get(), F_GETFL);
  if (flags < 0 || fcntl(listener_.get(), F_SETFL, flags | O_NONBLOCK) != 0) return false;
  if (!watch_.Open(loop, listener_.get())) return false;
  watch_.set_callback([this] { AcceptSome(); });
  watch_.Want(UV_READABLE);
  return true;
}

bool Acceptor::AcceptSome() {
  for (int count = 0; count < kMostAccepted; ++count) {
    if (!has_room_()) {
      watch_.Want(0);
      return true;
    }
    if (share_->Left() == 0) return true;  // the listener calls back in the next turn of the loop
    share_->Take(HeadShare::kAccept);
    Descriptor socket = Accept(listener_.get());
    if (socket.valid()) {
      const bool may_serve = LeavesDescriptors(socket.get());
      on_accepted_(std::move(socket), may_serve);
      continue;
    }
    if (IsOfOne(errno)) continue;
    if (!IsExhausted(errno)) {
      // The listener is no longer usable.
      if (errno != EAGAIN && errno != EWOULDBLOCK) watch_.Want(0);
      return false;
    }
    if (AcceptWithSpare()) continue;
    watch_.Want(0);
    rest_.Start(loop_, kRestMs, 0, [this] {
      rest_.Stop();
      if (!spare_.valid()) spare_ = SpareDescriptor();
      watch_.Want(UV_READABLE);
    });
    return false;
  }
  return true;
}

// Returns false if no connection could be accepted even with the spare descriptor.
bool Acceptor::AcceptWithSpare() {
  if (!spare_.valid()) return false;
  spare_.Close();
  Descriptor socket = Accept(listener_.get());
  const bool is_accepted = socket.valid();
  if (is_accepted) on_accepted_(std::move(socket), false);
  spare_ = SpareDescriptor();
  return is_accepted;
}

void Acceptor::Resume() {
  if (!rest_.active()) watch_.Want(UV_READABLE);
}

}  // namespace native_runner

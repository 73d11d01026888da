#include "supervise/network/connection/proxy_front.h"

#include <span>
#include <utility>

#include "policy/network/socks/socks_request.h"
#include "policy/network/wire/proxy_protocol.h"
#include "policy/text/quote.h"
#include "supervise/network/connection/farewell.h"
#include "supervise/network/connection/http_conversation.h"
#include "supervise/network/connection/tunnel.h"

namespace native_runner {
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
  const SocketStream::ReadState read = client_.Read(kMostBytes);
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
  if (!client_.valid()) return;  // it is somebody else's
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
  SayFarewell();
}

void ProxyFront::Refuse(const std::string& reason) {
  ConnectionRecord record;
  record.host = "127.0.0.1";
  record.port = kProxyPort;
  record.reason = reason;
  record.via = ConnectionVia::kSocks;
  parts().recorder->Refused(record);
  SayFarewell();
}

void ProxyFront::SayFarewell() {
  Become(std::make_unique<Farewell>(&parts(), connections(), started_ns(), std::move(client_)));
}

void ProxyFront::TimedOut() {
  Refuse("its head did not come in time");
}

void ProxyFront::Over() {
  client_.Close();
  End();
}

}  // namespace native_runner

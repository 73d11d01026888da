#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/network/host_name.h"
#include "policy/network/socks.h"
#include "supervise/network/connection.h"
#include "supervise/network/dialer.h"
#include "supervise/network/sockets.h"

namespace native_runner {

// Error texts and codes for the proxy's clients. Pure.

// Returns "no rule allows a.test:443", or "a.test:443 is refused: REASON".
std::string RefusalText(const NamedHost& host, std::uint16_t port, std::string_view reason);

// Returns a whole answer, after which the connection is closed. `text` is a sentence without its
// full stop.
std::string HttpRefusal(unsigned status, std::string_view text);

// Return the code for a failed connection attempt.
unsigned HttpStatusOf(DialState state);
SocksReply SocksReplyOf(DialState state);

// A connection to the proxy's port until its protocol is known: HTTP, or SOCKS 5, whose greeting
// and request it reads. Other protocols get no answer.
class ProxyFront : public Connection {
 public:
  // `client` is open.
  ProxyFront(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
             SocketStream client)
      : Connection(parts, connections, started_ns), client_(std::move(client)) {}

  void Start() override;
  void TimedOut() override;
  void CatchUp() override { Step(); }
  void Drain() override {}

 private:
  void Step();
  void ReadSocks();
  void RefuseSocks(const SocksRequest& request);
  void Refuse(const std::string& reason);
  void LingerAndClose();
  void Over();

  SocketStream client_;
  bool is_greeted_ = false;
};

}  // namespace native_runner

#pragma once

#include <string>

#include "policy/network/socks/socks_request.h"
#include "supervise/network/connection/connection.h"
#include "supervise/network/io/socket_stream.h"

namespace native_runner {

// A connection to the proxy's port, until it is known what it speaks: HTTP, or SOCKS 5, whose
// greeting and request it reads. Nothing else is answered.
class ProxyFront : public Connection {
 public:
  // `client` is open.
  ProxyFront(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
             SocketStream client)
      : Connection(parts, connections, started_ns), client_(std::move(client)) {}

  void Start() override;
  void TimedOut() override;
  void Drain() override {}

 private:
  void Step();
  void ReadSocks();
  void RefuseSocks(const SocksRequest& request);
  void Refuse(const std::string& reason);
  void SayFarewell();
  void Over();

  SocketStream client_;
  bool is_greeted_ = false;
};

}  // namespace native_runner

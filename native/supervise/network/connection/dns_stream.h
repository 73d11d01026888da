#pragma once

#include "supervise/network/connection/connection.h"
#include "supervise/network/dns/dns_responder.h"
#include "supervise/network/io/socket_stream.h"

namespace native_runner {

// DNS over TCP: questions behind their lengths, one after the other.
class DnsStream : public Connection {
 public:
  // `client` is open; `responder` outlives it.
  DnsStream(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
            SocketStream client, DnsResponder* responder)
      : Connection(parts, connections, started_ns),
        client_(std::move(client)),
        responder_(responder) {}

  void Start() override;
  void TimedOut() override { Over(); }
  void Drain() override {}

 private:
  void Step();
  void Over();

  SocketStream client_;
  DnsResponder* responder_;
};

}  // namespace native_runner

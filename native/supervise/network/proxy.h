#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "policy/network/host_name.h"
#include "policy/network/socks.h"
#include "supervise/network/connection.h"
#include "supervise/network/dialer.h"
#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

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

// Accepts on one listener, as many per wake-up as its sandbox's share allows. When the host has few
// descriptors left, clients are refused. When it has none, one client is accepted with a spare
// descriptor, so that it is refused instead of waiting; then accepting pauses. Supervisor thread
// only.
class Acceptor {
 public:
  // `may_serve`: false if the client can only be refused.
  using OnAccepted = std::function<void(Descriptor socket, bool may_serve)>;
  using HasRoom = std::function<bool()>;

  // `share` outlives this.
  Acceptor(Descriptor listener, std::uint16_t port, HeadShare* share, HasRoom has_room,
           OnAccepted on_accepted)
      : listener_(std::move(listener)),
        port_(port),
        share_(share),
        has_room_(std::move(has_room)),
        on_accepted_(std::move(on_accepted)) {}

  std::uint16_t port() const { return port_; }
  // Returns false if the listener can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop);
  // Returns true if more clients may wait.
  bool AcceptSome();
  // Continues after has_room has turned true again.
  void Resume();

 private:
  bool AcceptWithSpare();

  Descriptor listener_;
  std::uint16_t port_;
  HeadShare* share_;
  HasRoom has_room_;
  OnAccepted on_accepted_;
  uv_loop_t* loop_ = nullptr;
  Watch watch_;
  Descriptor spare_;
  Timer rest_;
};

}  // namespace native_runner

#pragma once

#include "supervise/network/connection/connection.h"
#include "supervise/network/io/socket_stream.h"

namespace native_runner {

// Sends what is left of an answer, and closes when the client has read it: closing before, with
// something of the client's unread, would reset the connection and take the answer away.
class Farewell : public Connection {
 public:
  Farewell(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
           SocketStream client)
      : Connection(parts, connections, started_ns), client_(std::move(client)) {}

  void Start() override;
  void TimedOut() override { Over(); }
  void Drain() override { static_cast<void>(client_.Flush()); }

 private:
  void Step();
  void Over();

  SocketStream client_;
  bool is_shut_ = false;
};

}  // namespace native_runner

#pragma once

#include <memory>

#include "supervise/network/connection/connection.h"
#include "supervise/network/relay/relay.h"

namespace native_runner {

// A connection that is relayed as it is, until it ends.
class Relayed : public Connection {
 public:
  // What `record` has counted already stays in it.
  Relayed(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
          SocketStream client, SocketStream host, std::unique_ptr<OpenRecord> record);

  void Start() override;
  void TimedOut() override;
  void Drain() override;

 private:
  void Changed();
  void Count();

  std::unique_ptr<OpenRecord> record_;
  std::uint64_t before_out_;
  std::uint64_t before_in_;
  Relay relay_;
};

}  // namespace native_runner

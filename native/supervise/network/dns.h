#pragma once

#include <uv.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/network/dns.h"
#include "policy/network/network_rules.h"
#include "supervise/network/connection.h"
#include "supervise/network/recorder.h"
#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Answers DNS questions of a sandbox from the rules. A name that could be allowed gets the
// synthetic addresses that lead to the relay; any other is answered as nonexistent, and recorded.
// No question leaves the host: an allowed name is resolved when a connection to it is made.
// Supervisor thread only.
class DnsResponder {
 public:
  // All pointers outlive this. `has_v6`: the sandbox has listeners that IPv6 reaches.
  DnsResponder(const NetworkPolicy* policy, SyntheticAddresses* names, Recorder* recorder,
               bool has_v6)
      : policy_(policy), names_(names), recorder_(recorder), has_v6_(has_v6) {}

  // Returns nullopt if the message gets no answer.
  std::optional<std::vector<std::uint8_t>> Answer(std::span<const std::uint8_t> message,
                                                  DnsTransport transport);

 private:
  DnsAnswer AnswerTo(const DnsQuery& query);
  DnsAnswer AnswerTo(const DnsQuery& query, const HostName& name);
  DnsAnswer Refuse(std::string host, std::string rule, std::string reason);

  const NetworkPolicy* policy_;
  SyntheticAddresses* names_;
  Recorder* recorder_;
  bool has_v6_;
};

// DNS over UDP. An answer that finds no room in the kernel is dropped, as is usual for UDP.
// Supervisor thread only.
class DnsSocket {
 public:
  // `responder` outlives this.
  DnsSocket(DnsResponder* responder, Descriptor socket)
      : responder_(responder), socket_(std::move(socket)) {}

  // Returns false if the socket can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop);
  // Answers the questions that have arrived, at most a batch. Returns true if there may be more.
  bool AnswerSome();

 private:
  DnsResponder* responder_;
  Descriptor socket_;
  Watch watch_;
};

// DNS over TCP: questions in sequence, each preceded by its length.
class DnsStream : public Connection {
 public:
  // `client` is open; `responder` outlives this.
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

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

// Answers a sandbox's DNS questions out of the rules: a name that could be allowed has the
// synthetic addresses that lead to the relay, any other is not there, and is recorded. No question
// leaves the host: what is allowed is resolved when it is connected to. Supervisor thread only.
class DnsResponder {
 public:
  // All of them outlive it. `has_v6`: the sandbox has listeners that IPv6 reaches.
  DnsResponder(const NetworkPolicy* policy, SyntheticAddresses* names, Recorder* recorder,
               bool has_v6)
      : policy_(policy), names_(names), recorder_(recorder), has_v6_(has_v6) {}

  // nullopt: no answer at all.
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

// DNS over UDP: a question, an answer. What the kernel has no room for is dropped, as UDP is.
// Supervisor thread only.
class DnsSocket {
 public:
  // `responder` outlives it.
  DnsSocket(DnsResponder* responder, Descriptor socket)
      : responder_(responder), socket_(std::move(socket)) {}

  // False: it can't be watched.
  [[nodiscard]] bool Start(uv_loop_t* loop);
  // Answers what has come, at most a batch. True: there may be more.
  bool AnswerSome();

 private:
  DnsResponder* responder_;
  Descriptor socket_;
  Watch watch_;
};

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

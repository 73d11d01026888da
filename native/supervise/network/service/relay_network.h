#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/network/synthetic/synthetic_addresses.h"
#include "supervise/network/connection/connections.h"
#include "supervise/network/connection/parts.h"
#include "supervise/network/dns/dns_responder.h"
#include "supervise/network/dns/dns_socket.h"
#include "supervise/network/network_options.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/network/service/acceptor.h"

namespace native_runner {

// SandboxNetwork, with options for tests.
class RelayNetwork : public SandboxNetwork {
 public:
  RelayNetwork(std::shared_ptr<const NetworkPolicy> policy, NetworkQuestions* questions,
               NetworkOptions options);
  ~RelayNetwork() override { Close(); }
  RelayNetwork(const RelayNetwork&) = delete;
  RelayNetwork& operator=(const RelayNetwork&) = delete;

  void Take(Descriptor listener) override { taken_.push_back(std::move(listener)); }
  bool is_complete() const override { return taken_.size() == wanted_.size(); }
  bool Start(uv_loop_t* loop) override;
  std::uint64_t Enter(std::vector<std::string> argv, OnRecord on_record) override;
  ConnectionLog Leave(std::uint64_t command) override;
  void Close() override;

  // Connections at present.
  std::size_t size() const { return live_ ? live_->connections.size() : 0; }

 private:
  // What there is between Start and Close.
  struct Live {
    Live(RelayNetwork* network, uv_loop_t* loop, NetworkQuestions* questions, bool has_v6);

    Resolver resolver;
    Admissions admissions;
    PipePool pipes;
    DnsResponder responder;
    NetworkParts parts;
    Connections connections;
    std::vector<std::unique_ptr<Acceptor>> acceptors;
    std::unique_ptr<DnsSocket> dns;
  };

  bool Watch(const SandboxListener& listener, Descriptor socket);
  void Accepted(std::uint16_t port, Descriptor socket, bool may_serve);
  void Serve(std::uint16_t port, Descriptor socket, std::unique_ptr<HostName> name);
  void Refuse(const std::string& host, std::uint16_t port, const std::string& reason,
              Descriptor socket);

  std::shared_ptr<const NetworkPolicy> policy_;
  NetworkQuestions* questions_;
  NetworkOptions options_;
  std::vector<SandboxListener> wanted_;
  std::vector<Descriptor> taken_;
  SyntheticAddresses names_;
  Recorder recorder_;
  uv_loop_t* loop_ = nullptr;
  std::unique_ptr<Live> live_;
};

}  // namespace native_runner

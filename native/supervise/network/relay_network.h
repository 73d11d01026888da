#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/network/dns.h"
#include "supervise/network/connection.h"
#include "supervise/network/dialer.h"
#include "supervise/network/dns.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Accepts on one listener, a batch per wake-up. When the host has few descriptors left, clients are
// refused. When it has none, one client is accepted with a spare descriptor, so that it is refused
// instead of waiting; then accepting pauses. Supervisor thread only.
class Acceptor {
 public:
  // `may_serve`: false if the client can only be refused.
  using OnAccepted = std::function<void(Descriptor socket, bool may_serve)>;
  using HasRoom = std::function<bool()>;

  Acceptor(Descriptor listener, std::uint16_t port, HasRoom has_room, OnAccepted on_accepted)
      : listener_(std::move(listener)),
        port_(port),
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
  HasRoom has_room_;
  OnAccepted on_accepted_;
  uv_loop_t* loop_ = nullptr;
  Watch watch_;
  Descriptor spare_;
  Timer rest_;
};

// Implements SandboxNetwork, with options for tests.
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

  // Returns the number of current connections.
  std::size_t size() const { return live_ ? live_->connections.size() : 0; }

 private:
  // State between Start and Close.
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

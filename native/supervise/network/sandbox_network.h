#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/network/dns.h"
#include "policy/network/host_name.h"
#include "policy/network/network_rules.h"
#include "policy/result.h"
#include "protocol/order.h"
#include "supervise/network/dialer.h"
#include "supervise/network/network_questions.h"
#include "supervise/network/recorder.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// A socket bound in a sandbox's network namespace, which the socket keeps alive.
struct SandboxListener {
  enum class Kind {
    kTcp,     // listens on `port`, at every local address of the sandbox
    kUdpDns,  // bound to 127.0.0.1:53
  };
  Kind kind = Kind::kTcp;
  std::uint16_t port = 0;
};

// Returns the listeners of a sandbox with these rules, in the order in which its launcher hands
// them over.
std::vector<SandboxListener> ListenersOf(const NetworkRules& rules);

// Returns the steps (protocol/order.h) with which a launcher makes the network namespace of a
// sandbox with these rules, routes the synthetic addresses of names to its loopback, and hands over
// its listeners (ListenersOf). `with_user`: the launcher needs a user namespace of its own for
// this, and is not in one yet.
std::vector<std::string> NetworkSteps(const NetworkRules& rules, bool with_user);

// Makes the launcher refuse to run a command in our network namespace. kSetup if our namespace
// can't be identified.
std::optional<Error> OrderOwnNetwork(OrderHeader* order);

// The network of one sandbox: accepts its commands' connections, resolves names on the host,
// decides by the rules, connects, relays and records. Connections that can't be decided, resolved
// or recorded are refused. Supervisor thread only.
class SandboxNetwork {
 public:
  // `questions` outlives this; nullptr: undecided connections are denied.
  SandboxNetwork(std::shared_ptr<const NetworkPolicy> policy, NetworkQuestions* questions,
                 NetworkOptions options = {});
  ~SandboxNetwork();
  SandboxNetwork(const SandboxNetwork&) = delete;
  SandboxNetwork& operator=(const SandboxNetwork&) = delete;

  // Adds the next listener of ListenersOf, in that order. Before Start, connections wait in the
  // kernel.
  void Take(Descriptor listener) { taken_.push_back(std::move(listener)); }
  // True once all of ListenersOf have been added.
  bool is_complete() const { return taken_.size() == wanted_.size(); }
  // Starts accepting. Returns false if a listener can't be watched; nothing is accepted then.
  [[nodiscard]] bool Start(uv_loop_t* loop);

  // Begins a command: connections made from now until Leave are recorded for it, even those of a
  // command that runs in parallel in the same session. Returns its number.
  // `terminator_run`: the terminator's number of the run; 0: it has none, and no connection whose
  // TLS ends here.
  std::uint64_t Enter(std::vector<std::string> argv, OnRecord on_record = {},
                      std::uint64_t terminator_run = 0);
  // Ends a command and returns its record. Data that the command had sent is passed on as far as
  // the host's network takes it without waiting; then, if no other command is left, its connections
  // are closed.
  ConnectionLog Leave(std::uint64_t command);

  // Closes listeners and connections at once. A look-up that runs on another thread ends by itself,
  // without access to this object.
  void Close();

  // True if one of its own listeners is at this TCP port of the sandbox.
  bool ListensOn(std::uint16_t port) const;

  // Returns the number of current connections.
  std::size_t size() const;

 private:
  struct Live;  // the state between Start and Close

  bool Watch(const SandboxListener& listener, Descriptor socket);
  void Accepted(std::uint16_t port, Descriptor socket, bool may_serve);
  void Serve(std::uint16_t port, Descriptor socket, std::unique_ptr<HostName> name);
  void ServeHostPort(const HostPort* entry, Descriptor socket);
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

// Passes the listeners that a launcher handed over, all at once and before its reports on the
// command, to a network by domain, and starts it. Returns nullptr on success, else the reason as a
// clause: a command without its network would look like one that is refused everything.
const char* TakeListeners(std::vector<Descriptor> made, SandboxNetwork* network, uv_loop_t* loop);

}  // namespace native_runner

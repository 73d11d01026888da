#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/network/ip_address.h"
#include "policy/network/network_rules.h"
#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// What is the same for every sandbox; only tests have another one. Times are in milliseconds.
struct NetworkOptions {
  // Ports on which the first bytes say whom they are for, and have to.
  std::vector<std::uint16_t> tls_ports = {443};
  std::vector<std::uint16_t> http_ports = {80};

  // At once, of one sandbox; fewer where the host has few descriptors, so that a sandbox can't take
  // them all (a connection takes two to four). What is over it waits in the kernel.
  std::size_t most_connections = 2048;
  // As many as libuv lets look up names at once of its four threads: more would only wait there,
  // ahead of the look-ups of the host's own program, for as long as a slow server makes them.
  std::size_t most_resolving = 2;

  // From the first byte that is waited for to a whole head, hello or question: who is slower keeps
  // a connection for nothing.
  std::uint64_t head_ms = 60'000;
  // To find the host's addresses and to connect to one. Linux itself gives up an address after
  // some 130 s; a resolver after 10 to 30.
  std::uint64_t connect_ms = 150'000;
  // Without a byte in either direction. Long polls and idle ssh sessions live longer than an hour;
  // a peer that is dead is found by keep-alive much earlier.
  std::uint64_t idle_ms = 4ULL * 60 * 60 * 1000;
  // How often the times above are looked at.
  std::uint64_t sweep_ms = 1000;
  // RFC 8305 5: before the next address is tried beside the one before.
  std::uint64_t attempt_ms = 250;

  // Addresses of names, instead of the host's resolver. Empty but in tests.
  std::map<std::string, std::vector<IpAddress>> hosts;
};

// The host's addresses of names, by getaddrinfo(3) on libuv's threads, few at once. Names are asked
// as they are, so /etc/hosts and the host's search list count, as for any other program there.
// Supervisor thread only. A question on another thread outlives it and reaches nothing any more.
class Resolver {
 public:
  // Empty: `fault` says why.
  struct Found {
    std::vector<IpAddress> addresses;
    std::string fault;
  };
  using OnFound = std::function<void(Found)>;

  Resolver(uv_loop_t* loop, const NetworkOptions* options);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Calls `on_found` once, later. Returns the question's number.
  std::uint64_t Ask(const HostName& name, OnFound on_found);
  // It is not called any more.
  void Forget(std::uint64_t question);

 private:
  struct Request;
  struct Question {
    std::string name;
    OnFound on_found;
    Timer known;  // of a name that options.hosts has
  };

  void Begin();
  void Begin(std::uint64_t number, const std::string& name);
  void Answer(std::uint64_t number, Found found);

  uv_loop_t* loop_;
  const NetworkOptions* options_;
  std::map<std::uint64_t, Question> questions_;
  std::vector<std::uint64_t> waiting_;  // in the order in which they came
  std::uint64_t next_ = 0;
  std::shared_ptr<Resolver*> self_;             // nullptr in it: gone
  std::map<std::uint64_t, Request*> requests_;  // that libuv has; each is freed when it ends
};

enum class DialState {
  kConnected,
  kNotPermitted,  // no address of it may be connected to
  kUnresolved,
  kRefused,
  kUnreachable,
  kTimedOut,
  kFailed,  // anything else; the host has no descriptors left, for one
};

struct Dialled {
  DialState state = DialState::kFailed;
  Descriptor socket;
  std::optional<IpAddress> address;  // that it is connected to, or that was tried or refused last
  std::string fault;                 // a clause, for records; empty for kConnected
};

// Connects to a host by name: resolves it once, leaves out the addresses that the rules don't
// permit, and tries the others, families in turn, each beside the one before after a while (Happy
// Eyeballs, RFC 8305); the first to connect is it. A sandbox's listeners are in a network namespace
// that nothing here connects to, so no connection can lead back to them. Supervisor thread only.
class Dialer {
 public:
  using OnDialled = std::function<void(Dialled)>;

  Dialer(uv_loop_t* loop, Resolver* resolver, const NetworkOptions* options)
      : loop_(loop), resolver_(resolver), options_(options) {}
  ~Dialer() { Stop(); }
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // Calls `on_dialled` once, later, after options.connect_ms at the latest.
  void Dial(const NetworkRules& rules, const HostName& name, std::uint16_t port,
            OnDialled on_dialled);
  void Stop();

 private:
  struct Attempt {
    IpAddress address;
    Descriptor socket;
    Watch watch;
  };

  void Resolved(const NetworkRules& rules, const HostName& name, const Resolver::Found& found);
  void Next();
  void Begin(const IpAddress& address);
  void Looked(Attempt* attempt);
  void Failed(Attempt* attempt, int error);
  void End(Dialled dialled);

  uv_loop_t* loop_;
  Resolver* resolver_;
  const NetworkOptions* options_;
  OnDialled on_dialled_;
  std::uint16_t port_ = 0;
  std::uint64_t question_ = 0;
  std::vector<IpAddress> addresses_;  // in the order in which they are tried
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::vector<std::unique_ptr<Attempt>> ended_;  // whose callback may still run
  Dialled last_;                                 // how the last attempt failed
  Timer beside_;
  Timer deadline_;
};

}  // namespace native_runner

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

// Settings of the relay, equal for every sandbox; only tests change them. Times are in
// milliseconds.
struct NetworkOptions {
  // Ports on which the first bytes must name the host.
  std::vector<std::uint16_t> tls_ports = {443};
  std::vector<std::uint16_t> http_ports = {80};

  // Maximum of one sandbox at once; lower if the host has few descriptors, so that a sandbox cannot
  // use them up (a connection takes two to four). Further connections wait in the kernel.
  std::size_t most_connections = 2048;
  // Look-ups of one sandbox at once, each on a thread of its own; see Resolver.
  std::size_t most_resolving = 2;

  // Bytes of heads that the connections of one sandbox may have read in one turn of the loop.
  std::size_t head_share_bytes = std::size_t{64} << 10U;
  // Time from the first byte to a whole head, hello or question, so that slow clients do not hold
  // connections.
  std::uint64_t head_ms = 60'000;
  // Time to find the host's addresses and connect to one. Linux itself gives up an address after
  // some 130 s; a resolver after 10 to 30 s.
  std::uint64_t connect_ms = 150'000;
  // Time without a byte in either direction. Long polls and idle ssh sessions live longer than an
  // hour; keep-alive detects a dead peer much earlier.
  std::uint64_t idle_ms = 4ULL * 60 * 60 * 1000;
  // Interval between checks of the deadlines.
  std::uint64_t sweep_ms = 1000;
  // Delay before the next address is tried in parallel (RFC 8305 5).
  std::uint64_t attempt_ms = 250;

  // Addresses of names, used instead of the host's resolver. Empty outside tests.
  std::map<std::string, std::vector<IpAddress>> hosts;
};

// Resolves names on the host, by getaddrinfo(3) on threads of its own, few at once: libuv would end
// the process where it can start none, as where commands of the same user have taken all processes.
// Names are passed unchanged, so /etc/hosts and the host's search list apply, as for any other
// program there. Supervisor thread only. A look-up that still runs on another thread at destruction
// is ignored.
class Resolver {
 public:
  // Look-ups of all resolvers of the process at once, with those that nobody waits for any more: a
  // server that does not answer holds each for some 30 s. Further ones wait.
  static constexpr std::size_t kMostInProcess = 32;

  // If `addresses` is empty, `fault` has the reason.
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
  // Ensures that the question's `on_found` is not called.
  void Forget(std::uint64_t question);

 private:
  struct LookUp;
  struct Shared;
  struct Question {
    std::string name;
    OnFound on_found;
    Timer known;  // for a name in options.hosts
  };

  static void* Main(void* look_up);
  void Begin();
  void Begin(std::uint64_t number, const std::string& name);
  bool Start(std::uint64_t number, const std::string& name);
  int Open();
  void TakeEnded();
  void Answer(std::uint64_t number, Found found);

  uv_loop_t* loop_;
  const NetworkOptions* options_;
  std::map<std::uint64_t, Question> questions_;
  std::vector<std::uint64_t> waiting_;  // in order of arrival
  std::uint64_t next_ = 0;
  std::shared_ptr<Resolver*> self_;  // holds nullptr after destruction
  std::shared_ptr<Shared> shared_;
  uv_async_t* wake_ = nullptr;  // freed when it is closed; keeps the loop going while one runs
  std::size_t running_ = 0;
  Timer again_;  // while the process has as many as it may have
};

enum class DialState {
  kConnected,
  kNotPermitted,  // no address of the host may be connected to
  kUnresolved,
  kRefused,
  kUnreachable,
  kTimedOut,
  kFailed,  // any other error, such as no descriptors left on the host
};

struct Dialled {
  DialState state = DialState::kFailed;
  Descriptor socket;
  std::optional<IpAddress> address;  // the connected address, or the last one tried or refused
  std::string fault;                 // a clause, for records; empty for kConnected
};

// Connects to a host by name. It resolves the name once, skips the addresses that the rules don't
// permit, and tries the others with alternating address families, starting each in parallel after a
// delay (Happy Eyeballs, RFC 8305); the first to connect wins. A sandbox's listeners are in a
// network namespace that nothing here connects to, so no connection can lead back to them.
// Supervisor thread only.
class Dialer {
 public:
  using OnDialled = std::function<void(Dialled)>;

  Dialer(uv_loop_t* loop, Resolver* resolver, const NetworkOptions* options)
      : loop_(loop), resolver_(resolver), options_(options) {}
  ~Dialer() { Stop(); }
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // Calls `on_dialled` once, later, within options.connect_ms.
  void Dial(const NetworkRules& rules, const HostName& name, std::uint16_t port,
            OnDialled on_dialled);
  // Connects to an address that a rule names, of this machine or another. Calls `on_dialled` once,
  // within options.connect_ms, maybe before it returns.
  void DialAddress(const IpAddress& address, std::uint16_t port, OnDialled on_dialled);
  void Stop();

 private:
  struct Attempt {
    IpAddress address;
    Descriptor socket;
    Watch watch;
  };

  void Prepare(std::uint16_t port, OnDialled on_dialled);
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
  std::vector<IpAddress> addresses_;  // in the order of the attempts
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::vector<std::unique_ptr<Attempt>> ended_;  // their callbacks may still be on the call stack
  Dialled last_;                                 // the last attempt's failure
  Timer beside_;
  Timer deadline_;
};

}  // namespace native_runner

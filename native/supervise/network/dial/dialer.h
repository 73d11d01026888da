#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/network/name/host_name.h"
#include "policy/network/rules/network_rules.h"
#include "supervise/network/dial/resolver.h"
#include "supervise/network/io/watch.h"
#include "supervise/network/network_options.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

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

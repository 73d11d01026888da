#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "policy/network/ip_address.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// TCP sockets of a sandbox's network namespace, made by its launcher (protocol/report.h), some of
// them ahead of time. Supervisor thread only.
class ForwardSockets {
 public:
  // Hands the launcher its end of the socket on which it is asked. False: it is gone.
  using HandOver = std::function<bool(int peer)>;
  // Without a valid descriptor, none can be made.
  using OnSocket = std::function<void(Descriptor socket)>;

  ForwardSockets(uv_loop_t* loop, HandOver hand_over)
      : loop_(loop), hand_over_(std::move(hand_over)) {}
  ForwardSockets(const ForwardSockets&) = delete;
  ForwardSockets& operator=(const ForwardSockets&) = delete;

  // Calls `on_socket` once: before returning 0, or later, returning a number for Forget. A launcher
  // that does not answer is waited for without a limit.
  std::uint64_t Take(bool is_v6, OnSocket on_socket);
  void Forget(std::uint64_t number);

 private:
  struct Family {
    std::vector<Descriptor> spare;
    std::map<std::uint64_t, OnSocket> waiting;
    bool is_asked = false;
  };

  Family& Of(bool is_v6) { return is_v6 ? v6_ : v4_; }
  bool Open();
  void Ask(bool is_v6);
  void Receive();
  bool ReceiveOne();
  void Serve(Family* family);
  void Fail(Family* family);
  void Lose();

  uv_loop_t* loop_;
  HandOver hand_over_;
  Descriptor channel_;
  Poll poll_;
  Family v4_;
  Family v6_;
  std::vector<bool> asked_;  // the families of unanswered questions, in their order
  std::uint64_t next_ = 0;
};

// A port of the host that is to lead to a port of a sandbox.
struct ForwardRequest {
  std::uint16_t port = 0;       // in the sandbox
  IpAddress host;               // a loopback of the host
  std::uint16_t host_port = 0;  // 0: a free one
};

enum class ForwardState {
  kOpen,
  kGone,       // the process or session has ended
  kNoSockets,  // its policy forbids every socket
  kOwnPort,    // the network by domain itself listens on the sandbox's port
  kLoop,       // the sandbox has the host's network, where the port would lead to itself
  kTooMany,    // the sandbox has kMostForwards
  kPortTaken,  // something of the host listens there
  kFailed,     // `error`
};

// A plain value. In kOpen also the host's port, and the forward's number among its sandbox's.
struct ForwardAnswer {
  ForwardState state = ForwardState::kGone;
  std::uint16_t host_port = 0;
  std::uint64_t number = 0;
  int error = 0;  // errno
};

// A forward and what came of its connections, as audits have it. A plain value.
struct ForwardRecord {
  std::uint16_t port = 0;
  std::string host;  // the address that it listens on
  std::uint16_t host_port = 0;
  std::uint64_t connections = 0;  // accepted, the following ones among them
  std::uint64_t refused = 0;      // requests whose host is no loopback
  std::uint64_t failed = 0;       // nothing in the sandbox took them
  std::uint64_t bytes_out = 0;    // sent by the sandbox and taken by the host's clients
  std::uint64_t bytes_in = 0;
};

// The forwards into one sandbox: listeners on the host's loopback whose connections are relayed to
// the sandbox's own loopback, over IPv4 or, where nothing listens there, over IPv6. Requests of
// HTTP/1 have to name a loopback (HostCheck). Supervisor thread only.
class Forwards {
 public:
  static constexpr std::size_t kMostForwards = 64;

  Forwards(uv_loop_t* loop, ForwardSockets::HandOver hand_over);
  ~Forwards();
  Forwards(const Forwards&) = delete;
  Forwards& operator=(const Forwards&) = delete;

  // kOpen, kTooMany, kPortTaken or kFailed.
  ForwardAnswer Open(const ForwardRequest& request);
  // Closes the listener, and its connections; with `drains` these pass on first what the sandbox
  // has sent, as far as clients take it without waiting. Does nothing if it is closed.
  void Close(std::uint64_t number, bool drains);
  void CloseAll();

  // The forwards that are open at some time, with their counts then.
  struct Mark {
    std::uint64_t last = 0;
    std::map<std::uint64_t, ForwardRecord> open;
  };
  Mark MarkNow() const;
  // Returns the forwards that were open at that time or later, with what was counted since.
  std::vector<ForwardRecord> Since(const Mark& mark) const;

 private:
  struct Parts;
  class Listener;

  std::unique_ptr<Parts> parts_;
  std::map<std::uint64_t, std::unique_ptr<Listener>> open_;
  std::map<std::uint64_t, ForwardRecord> closed_;
  std::uint64_t last_ = 0;
};

}  // namespace native_runner

#pragma once

#include <uv.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/network/network_rules.h"
#include "supervise/network/dialer.h"
#include "supervise/network/network_questions.h"
#include "supervise/network/recorder.h"
#include "supervise/network/relay.h"
#include "supervise/network/sockets.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Decision about a connection, and the rule behind it.
struct Admission {
  bool allowed = false;
  std::string rule;
  std::string reason;  // of a denial: a clause
};

// Decides about connections by the rules or, if these are silent, by asking: once for all
// connections that wait for the same host and port. The asked runner remembers answers, this class
// does not. Supervisor thread only.
class Admissions {
 public:
  using OnDecided = std::function<void(Admission)>;

  // All arguments outlive this; `questions` may be nullptr.
  Admissions(const NetworkPolicy* policy, NetworkQuestions* questions, const Recorder* recorder)
      : policy_(policy), questions_(questions), recorder_(recorder) {}
  ~Admissions();
  Admissions(const Admissions&) = delete;
  Admissions& operator=(const Admissions&) = delete;

  // Calls `on_decided` once: before returning 0, or later, returning a number for Forget.
  std::uint64_t Decide(const NamedHost& host, std::uint16_t port, ConnectionVia via,
                       OnDecided on_decided);
  void Forget(std::uint64_t number);

 private:
  struct Open {
    std::uint64_t question = 0;
    std::map<std::uint64_t, OnDecided> waiting;
  };

  const char* PlainFault(const NamedHost& host, std::uint16_t port, ConnectionVia via) const;
  void Answered(const std::string& key, NetworkAnswer answer);

  const NetworkPolicy* policy_;
  NetworkQuestions* questions_;
  const Recorder* recorder_;
  std::map<std::string, Open> open_;  // keyed by "host:port"
  std::uint64_t next_ = 0;
};

// Bounds the cost of one sandbox's connections in one turn of the loop, in bytes of heads: all runs
// share the supervisor's thread, and a command that floods its proxy gets no more of a turn than
// this. Supervisor thread only.
class HeadShare {
 public:
  // Both arguments outlive this.
  HeadShare(uv_loop_t* loop, const NetworkOptions* options) : loop_(loop), options_(options) {}

  // Returns what is left of this turn's share.
  std::size_t Left();
  void Take(std::size_t bytes) { left_ -= std::min(left_, bytes); }
  // The costs of accepting a connection, and of one call that drops bytes, as bytes of heads that
  // are read in the same time.
  static constexpr std::size_t kAccept = std::size_t{8} << 10U;
  static constexpr std::size_t kDrop = std::size_t{1} << 10U;
  // Leaves this turn without a bound: what the last command has sent is to be recorded now or
  // never.
  void Lift();

 private:
  uv_loop_t* loop_;
  const NetworkOptions* options_;
  std::uint64_t turn_ = UINT64_MAX;
  std::size_t left_ = 0;
};

// Shared state of a sandbox's connections; outlives them.
struct NetworkParts {
  uv_loop_t* loop;
  const NetworkPolicy* policy;
  const NetworkOptions* options;
  Recorder* recorder;
  Resolver* resolver;
  Admissions* admissions;
  PipePool* pipes;
  HeadShare* head_share;

  bool IsTls(std::uint16_t port) const { return Has(options->tls_ports, port); }
  bool IsHttp(std::uint16_t port) const { return Has(options->http_ports, port); }

 private:
  static bool Has(const std::vector<std::uint16_t>& ports, std::uint16_t port) {
    for (const std::uint16_t one : ports) {
      if (one == port) return true;
    }
    return false;
  }
};

class Connections;

// One stage of serving a client: a handshake, a tunnel, HTTP. The next stage replaces it by Become.
// Supervisor thread only.
class Connection {
 public:
  Connection(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns)
      : parts_(parts), connections_(connections), started_ns_(started_ns) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Called once, when Connections owns it. May end the connection.
  virtual void Start() = 0;
  // Ends the connection: its deadline has passed.
  virtual void TimedOut() = 0;
  // Does at once what it had put off to a later turn of the loop.
  virtual void CatchUp() {}
  // Passes on sent data as far as possible without waiting: the last command has ended.
  virtual void Drain() = 0;

  // Deadline, in ms of uv_now; each activity renews it.
  std::uint64_t deadline_ms() const { return deadline_ms_; }

 protected:
  friend class Connections;

  const NetworkParts& parts() const { return *parts_; }
  Connections* connections() const { return connections_; }
  std::uint64_t started_ns() const { return started_ns_; }
  std::uint64_t number() const { return number_; }

  void TimeOutIn(std::uint64_t ms) { deadline_ms_ = uv_now(parts_->loop) + ms; }
  // Removes it from the list and destroys it later. None of its callbacks may run after this.
  void End();
  void Become(std::unique_ptr<Connection> next);

 private:
  const NetworkParts* parts_;
  Connections* connections_;
  std::uint64_t started_ns_;
  std::uint64_t number_ = 0;
  std::uint64_t deadline_ms_ = UINT64_MAX;
};

// The connections of one sandbox, with their deadlines. Supervisor thread only.
class Connections {
 public:
  using OnRoom = std::function<void()>;

  // Calls `on_room` when a connection has ended.
  Connections(uv_loop_t* loop, const NetworkOptions* options, OnRoom on_room)
      : loop_(loop), options_(options), on_room_(std::move(on_room)) {}

  bool has_room() const { return connections_.size() < options_->most_connections; }
  std::size_t size() const { return connections_.size(); }

  void Add(std::unique_ptr<Connection> connection);
  void CatchUp();
  // Drains all connections and ends them.
  void Drain();

 private:
  friend class Connection;

  void Replace(std::uint64_t number, std::unique_ptr<Connection> next);
  void End(std::uint64_t number);
  void Bury(std::unique_ptr<Connection> ended);
  void Sweep();

  uv_loop_t* loop_;
  const NetworkOptions* options_;
  OnRoom on_room_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> ended_;  // one of them may still be on the call stack
  std::uint64_t next_ = 0;
  Timer sweep_;
  Timer burial_;
};

// Sends the rest of an answer and closes when the client has read it. Closing earlier, with the
// client's data unread, would reset the connection and discard the answer.
class LingeringClose : public Connection {
 public:
  LingeringClose(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
                 SocketStream client)
      : Connection(parts, connections, started_ns), client_(std::move(client)) {}

  void Start() override;
  void TimedOut() override { Over(); }
  void Drain() override { static_cast<void>(client_.Flush()); }

 private:
  void Step();
  void Over();

  SocketStream client_;
  bool is_shut_ = false;
};

// A connection to a port of the sandbox's loopback that stands for one of the host's. Where it
// leads is decided by the listener that accepted it, and by nothing that the client sends: no byte
// is read before the host has been connected to. If that fails the client gets a reset.
class HostPortConnection : public Connection {
 public:
  // `client` is open; `entry` outlives this.
  HostPortConnection(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
                     SocketStream client, const HostPort* entry)
      : Connection(parts, connections, started_ns),
        client_(std::move(client)),
        entry_(entry),
        dialer_(parts->loop, parts->resolver, parts->options) {}

  void Start() override;
  void TimedOut() override {}  // the dialer has its own deadline
  void Drain() override;

 private:
  void Looked();
  void DialEnded(Dialled dialled);
  void Fail(const std::string& reason);
  ConnectionRecord RecordOf(std::string reason) const;

  SocketStream client_;
  const HostPort* entry_;
  bool is_over_ = false;
  Dialer dialer_;
};

}  // namespace native_runner

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

#include "policy/network/connections.h"
#include "policy/network/network_rules.h"
#include "policy/result.h"
#include "protocol/order.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// A question to the runner's owner (`onRequest`) about a connection that no rule decides.
struct NetworkQuestion {
  std::string host;
  std::uint16_t port = 0;  // 0: may the name be resolved, for a connection to any port
  ConnectionVia via = ConnectionVia::kTransparent;
  std::vector<std::string> argv;  // the command's; empty if several commands run in the sandbox
};

enum class NetworkAnswer { kAllow, kDeny, kNone };  // kNone: an error, or no answer in time

// Asks questions. Supervisor thread only; outlives all askers.
class NetworkQuestions {
 public:
  using OnAnswer = std::function<void(NetworkAnswer)>;

  virtual ~NetworkQuestions() = default;

  // `asker`: the runner's number. Calls `on_answer` once, later, within 30 s; not after Withdraw.
  // Returns the question's number.
  virtual std::uint64_t Ask(std::uint64_t asker, NetworkQuestion question, OnAnswer on_answer) = 0;
  virtual void Withdraw(std::uint64_t question) = 0;
};

// The ports on which every sandbox with a network by domain listens, besides those of its rules:
// DNS, and the proxy (HTTP and SOCKS 5, distinguished by the first byte).
inline constexpr std::uint16_t kDnsPort = 53;
inline constexpr std::uint16_t kProxyPort = 3128;

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

// The network of one sandbox: accepts its commands' connections, resolves names on the host,
// decides by the rules, connects, relays and records. Connections that can't be decided, resolved
// or recorded are refused. Supervisor thread only.
class SandboxNetwork {
 public:
  enum class RecordEvent {
    kOpened,  // allowed, and connected to the host
    kEnded,   // closed; only for a record that was reported as kOpened
    kDenied,  // refused or failed; once for records that are merged
  };
  // Reports each entry of a command's record except those that are only counted. Called from within
  // this class's methods, so it must not call back into it.
  using OnRecord = std::function<void(RecordEvent, const ConnectionRecord&)>;

  // `questions` outlives this; nullptr: undecided connections are denied.
  static std::unique_ptr<SandboxNetwork> Make(std::shared_ptr<const NetworkPolicy> policy,
                                              NetworkQuestions* questions);

  virtual ~SandboxNetwork() = default;

  // Adds the next listener of ListenersOf, in that order. Before Start, connections wait in the
  // kernel.
  virtual void Take(Descriptor listener) = 0;
  // True once all of ListenersOf have been added.
  virtual bool is_complete() const = 0;
  // Starts accepting. Returns false if a listener can't be watched; nothing is accepted then.
  [[nodiscard]] virtual bool Start(uv_loop_t* loop) = 0;

  // Begins a command: connections made from now until Leave are recorded for it, even those of a
  // command that runs in parallel in the same session. Returns its number.
  virtual std::uint64_t Enter(std::vector<std::string> argv, OnRecord on_record = {}) = 0;
  // Ends a command and returns its record. Data that the command had sent is passed on as far as
  // the host's network takes it without waiting; then, if no other command is left, its connections
  // are closed.
  virtual ConnectionLog Leave(std::uint64_t command) = 0;

  // Closes listeners and connections at once. Work on libuv's other threads ends by itself, without
  // access to this object.
  virtual void Close() = 0;
};

// Returns the steps (protocol/order.h) with which a launcher makes the network namespace of a
// sandbox with these rules, routes the synthetic addresses of names to its loopback, and hands over
// its listeners (ListenersOf). `with_user`: the launcher needs a user namespace of its own for
// this, and is not in one yet.
std::vector<std::string> NetworkSteps(const NetworkRules& rules, bool with_user);

// Makes the launcher refuse to run a command in our network namespace. kSetup if our namespace
// can't be identified.
std::optional<Error> OrderOwnNetwork(OrderHeader* order);

// Passes the listeners that a launcher handed over, all at once and before its reports on the
// command, to a network by domain, and starts it. Returns nullptr on success, else the reason as a
// clause: a command without its network would look like one that is refused everything.
const char* TakeListeners(std::vector<Descriptor> made, SandboxNetwork* network, uv_loop_t* loop);

// Time limit for an answer. A person has to read and decide; the client waits meanwhile, and most
// clients give up after a minute.
inline constexpr std::uint64_t kAnswerWithinMs = 30'000;
// Maximum number of open questions of all sandboxes of a supervisor.
inline constexpr std::size_t kMostOpenQuestions = 256;

// The open questions of one supervisor. Each reported question is answered by its number. The
// answer is kNone without an answer in time, without an asker, or if too many questions are open.
// Supervisor thread only.
class OpenQuestions final : public NetworkQuestions {
 public:
  using OnQuestion =
      std::function<void(std::uint64_t question, std::uint64_t asker, NetworkQuestion what)>;
  // Called when no connection waits for the answer of a reported question any more.
  using OnGone = std::function<void(std::uint64_t question)>;

  OpenQuestions(OnQuestion on_question, OnGone on_gone,
                std::uint64_t answer_within_ms = kAnswerWithinMs)
      : on_question_(std::move(on_question)),
        on_gone_(std::move(on_gone)),
        answer_within_ms_(answer_within_ms) {}

  // Call before the first question.
  void set_loop(uv_loop_t* loop) { loop_ = loop; }

  std::uint64_t Ask(std::uint64_t asker, NetworkQuestion question, OnAnswer on_answer) override;
  void Withdraw(std::uint64_t question) override;
  // Does nothing if the question has ended: answers may arrive late.
  void Answer(std::uint64_t question, NetworkAnswer answer);

 private:
  struct Open {
    OnAnswer on_answer;
    bool is_reported = false;
    Timer deadline;
  };

  void End(std::uint64_t question);

  OnQuestion on_question_;
  OnGone on_gone_;
  std::uint64_t answer_within_ms_;
  uv_loop_t* loop_ = nullptr;
  std::map<std::uint64_t, std::unique_ptr<Open>> open_;
  std::uint64_t last_ = 0;
};

}  // namespace native_runner

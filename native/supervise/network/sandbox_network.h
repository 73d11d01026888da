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

// What is asked of whoever made the runner (`onRequest`), about what no rule decides.
struct NetworkQuestion {
  std::string host;
  std::uint16_t port = 0;  // 0: whether the name may be resolved, for a connection to any port
  ConnectionVia via = ConnectionVia::kTransparent;
  std::vector<std::string> argv;  // of the command; empty where several run in the sandbox
};

enum class NetworkAnswer { kAllow, kDeny, kNone };  // kNone: an error, or no answer in time

// Asks. Supervisor thread only; outlives all who ask.
class NetworkQuestions {
 public:
  using OnAnswer = std::function<void(NetworkAnswer)>;

  virtual ~NetworkQuestions() = default;

  // `asker`: the runner's number. Calls `on_answer` once, later, within 30 s; not after Withdraw.
  // Returns the question's number.
  virtual std::uint64_t Ask(std::uint64_t asker, NetworkQuestion question, OnAnswer on_answer) = 0;
  virtual void Withdraw(std::uint64_t question) = 0;
};

// The ports that every sandbox with a network by domain has listeners on, besides those of its
// rules: DNS, and the proxy (HTTP and SOCKS 5, told apart by the first byte).
inline constexpr std::uint16_t kDnsPort = 53;
inline constexpr std::uint16_t kProxyPort = 3128;

// A socket that was bound in a sandbox's network namespace, which it keeps for life.
struct SandboxListener {
  enum class Kind {
    kTcp,     // listening on `port`, at every address of the sandbox's own
    kUdpDns,  // bound to 127.0.0.1:53
  };
  Kind kind = Kind::kTcp;
  std::uint16_t port = 0;
};

// The listeners of a sandbox with these rules, in the order in which its launcher hands them over.
std::vector<SandboxListener> ListenersOf(const NetworkRules& rules);

// The network of one sandbox: it accepts what commands connect to, resolves names on the host,
// decides by the rules, connects, relays, and keeps a record. What can't be decided, resolved or
// recorded is refused. Supervisor thread only.
class SandboxNetwork {
 public:
  enum class RecordEvent {
    kOpened,  // allowed, and connected to the host
    kEnded,   // closed; of a record that came as kOpened
    kDenied,  // refused or failed; once for those whose records are merged
  };
  // Reported of each entry of a command's record, but for those that are only counted; from within
  // whatever this does, so it must not call back into this.
  using OnRecord = std::function<void(RecordEvent, const ConnectionRecord&)>;

  // `questions` outlives it; nullptr: nobody can be asked.
  static std::unique_ptr<SandboxNetwork> Make(std::shared_ptr<const NetworkPolicy> policy,
                                              NetworkQuestions* questions);

  virtual ~SandboxNetwork() = default;

  // The next of ListenersOf, in that order. Before Start: nothing is accepted yet, and connections
  // wait in the kernel.
  virtual void Take(Descriptor listener) = 0;
  // Whether all of ListenersOf have come.
  virtual bool is_complete() const = 0;
  // Accepts from now on. False: it can't be watched, and nothing is accepted.
  [[nodiscard]] virtual bool Start(uv_loop_t* loop) = 0;

  // A command begins: connections that begin from now until Leave are its own, also of a command
  // that runs beside it in the same session. Returns its number here.
  virtual std::uint64_t Enter(std::vector<std::string> argv, OnRecord on_record = {}) = 0;
  // The command has ended: what it had sent is handed on as far as the host's network takes it
  // without waiting; then, if no other command is left, its connections are closed. Gives the
  // record.
  virtual ConnectionLog Leave(std::uint64_t command) = 0;

  // Closes listeners and connections at once. What still runs on other threads of libuv's is left
  // to end by itself, and reaches nothing of this any more.
  virtual void Close() = 0;
};

// The steps (protocol/order.h) by which a launcher makes the network namespace of a sandbox with
// these rules, has the addresses that names get inside lead to its loopback, and hands over its
// listeners (ListenersOf). `with_user`: it may make no such namespace without one of the user's
// own, and is in none yet.
std::vector<std::string> NetworkSteps(const NetworkRules& rules, bool with_user);

// Has the launcher refuse to run a command in the network namespace that we are in. kSetup
// where we can't tell which that is.
std::optional<Error> OrderOwnNetwork(OrderHeader* order);

// Gives a network by domain the listeners that a launcher has handed over, all at once and ahead of
// whatever it says of the command, and has it accept. A command whose network is not there would
// not be told from one that is refused everything: the clause says why it is not; nullptr: it is.
const char* TakeListeners(std::vector<Descriptor> made, SandboxNetwork* network, uv_loop_t* loop);

// How long an answer may take. A person has to read and to decide; the client waits meanwhile, and
// most of them give up after a minute.
inline constexpr std::uint64_t kAnswerWithinMs = 30'000;
// How many questions wait at once, of all sandboxes of a supervisor.
inline constexpr std::size_t kMostOpenQuestions = 256;

// The questions of one supervisor, from the moment they are asked to their answer. Whoever is told
// of one answers by its number; without an answer in time, without anybody to ask and with too many
// open, the answer is kNone. Supervisor thread only.
class OpenQuestions final : public NetworkQuestions {
 public:
  using OnQuestion =
      std::function<void(std::uint64_t question, std::uint64_t asker, NetworkQuestion what)>;
  // Nobody waits for the answer of a question that was told any more.
  using OnGone = std::function<void(std::uint64_t question)>;

  OpenQuestions(OnQuestion on_question, OnGone on_gone,
                std::uint64_t answer_within_ms = kAnswerWithinMs)
      : on_question_(std::move(on_question)),
        on_gone_(std::move(on_gone)),
        answer_within_ms_(answer_within_ms) {}

  // Before the first question.
  void set_loop(uv_loop_t* loop) { loop_ = loop; }

  std::uint64_t Ask(std::uint64_t asker, NetworkQuestion question, OnAnswer on_answer) override;
  void Withdraw(std::uint64_t question) override;
  // Nothing for one that has ended: an answer may cross with that.
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

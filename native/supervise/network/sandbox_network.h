#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/network/record/connection_record.h"
#include "policy/network/rules/network_policy.h"
#include "supervise/network/network_questions.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

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
  // Told of each entry of a command's record, but for those that are only counted; from within
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

}  // namespace native_runner

#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/network/network_rules.h"
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

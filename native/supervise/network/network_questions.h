#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "policy/network/record/connection_record.h"

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

}  // namespace native_runner

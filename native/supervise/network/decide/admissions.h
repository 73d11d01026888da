#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "policy/network/name/host.h"
#include "policy/network/rules/decision.h"
#include "policy/network/rules/network_policy.h"
#include "supervise/network/network_questions.h"
#include "supervise/network/record/recorder.h"

namespace native_runner {

// Whether a connection may be made, and by what.
struct Admission {
  bool allowed = false;
  std::string rule;
  std::string reason;  // of a denial, a clause
};

// Decides about connections: by the rules, and where these don't say by asking, once for those that
// wait for the same host and port. Who is asked remembers answers, this does not. Supervisor thread
// only.
class Admissions {
 public:
  using OnDecided = std::function<void(Admission)>;

  // All of them outlive it; `questions` may be nullptr.
  Admissions(const NetworkPolicy* policy, NetworkQuestions* questions, const Recorder* recorder)
      : policy_(policy), questions_(questions), recorder_(recorder) {}
  ~Admissions();
  Admissions(const Admissions&) = delete;
  Admissions& operator=(const Admissions&) = delete;

  // Calls `on_decided` once: at once, and returns 0, or later, and returns a number to Forget it
  // by.
  std::uint64_t Decide(const NamedHost& host, std::uint16_t port, ConnectionVia via,
                       OnDecided on_decided);
  void Forget(std::uint64_t number);

 private:
  struct Open {
    std::uint64_t question = 0;
    std::map<std::uint64_t, OnDecided> waiting;
  };

  void Answered(const std::string& key, NetworkAnswer answer);

  const NetworkPolicy* policy_;
  NetworkQuestions* questions_;
  const Recorder* recorder_;
  std::map<std::string, Open> open_;  // by "host:port"
  std::uint64_t next_ = 0;
};

}  // namespace native_runner

#pragma once

#include "policy/policy.h"
#include "supervise/runtime.h"

namespace native_runner {

// Commands in a Firejail sandbox. Firejail runs a command unconfined, without a word, where it is
// nested; so nothing it promises is believed: the launcher inside compares the namespaces with the
// host's and looks at its capabilities before the command starts, in every run.
class FirejailRuntime : public Runtime {
 public:
  explicit FirejailRuntime(FirejailPolicy policy) : policy_(std::move(policy)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;

  const FirejailPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, const Shared& shared) const;
  std::vector<std::string> Options() const;

  FirejailPolicy policy_;
};

}  // namespace native_runner

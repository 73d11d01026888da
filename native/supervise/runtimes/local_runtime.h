#pragma once

#include "policy/options/policy.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

// Commands without a sandbox, with the same supervision: the launcher is started directly and, as
// subreaper, ends whatever the command leaves behind.
class LocalRuntime : public Runtime {
 public:
  explicit LocalRuntime(LocalPolicy policy) : policy_(std::move(policy)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;

  const LocalPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, const Shared& shared) const;

  LocalPolicy policy_;
};

}  // namespace native_runner

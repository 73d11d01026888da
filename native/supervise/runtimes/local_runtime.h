#pragma once

#include "policy/options/policy.h"
#include "supervise/preparation/runtime.h"
#include "supervise/transaction/entry.h"

namespace native_runner {

// Commands without a sandbox, with the same supervision: the launcher is started directly and, as
// subreaper, ends whatever the command leaves behind. In a transaction they are as free: only at
// the workspace's path they find its overlay.
class LocalRuntime : public Runtime {
 public:
  explicit LocalRuntime(LocalPolicy policy, TransactionOfRuntime transaction = {})
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;

  const LocalPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, const Shared& shared) const;

  LocalPolicy policy_;
  TransactionOfRuntime transaction_;
};

}  // namespace native_runner

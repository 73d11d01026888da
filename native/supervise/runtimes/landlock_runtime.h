#pragma once

#include "policy/options/policy.h"
#include "supervise/preparation/runtime.h"
#include "supervise/transaction/entry.h"

namespace native_runner {

// The version of Landlock's interface that this kernel has; 0 for none.
int LandlockAbi();

// kUnavailable, naming the kernel's version and what is needed.
Error NoLandlock();

// Commands confined by the launcher alone: Landlock for files, seccomp for the network, no
// capabilities, and a pid namespace where one may be made. Paths are the host's own.
class LandlockRuntime : public Runtime {
 public:
  // With a transaction, the workspace's path is that of its overlay.
  explicit LandlockRuntime(LandlockPolicy policy, TransactionOfRuntime transaction = {})
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;

  const LandlockPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, Shared& shared) const;

  LandlockPolicy policy_;
  TransactionOfRuntime transaction_;
};

}  // namespace native_runner

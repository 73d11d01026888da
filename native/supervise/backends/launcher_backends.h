#pragma once

#include <string>
#include <vector>

#include "policy/options/policy.h"
#include "policy/result.h"
#include "supervise/host/host.h"
#include "supervise/preparation/backend.h"
#include "supervise/transaction/entry.h"

namespace native_runner {

// Commands without a sandbox, with the same supervision: the launcher is started directly and, as
// subreaper, ends whatever the command leaves behind. In a transaction they are as free: only at
// the workspace's path they find its overlay.
class LocalBackend : public Backend {
 public:
  explicit LocalBackend(LocalPolicy policy, TransactionOfBackend transaction = {})
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  const LocalPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, const SupervisorContext& shared) const;

  LocalPolicy policy_;
  TransactionOfBackend transaction_;
};

// The rules of a Landlock policy for this host, in the order's form (protocol/order.h): directories
// that exist, the workspace, and the devices that every program needs. A read directory that holds
// secrets of root's is replaced by what is in it but for those, since Landlock can only allow.
// kSetup when a directory that the caller named does not exist.
Result<std::vector<std::string>> LandlockRules(const LandlockPolicy& policy, const Secrets& secrets,
                                               const std::string& workspace);

// The rules of the wall inside a Bubblewrap sandbox: read all, write what bwrap left writable.
std::vector<std::string> LandlockRulesInside(const BubblewrapPolicy& policy);

// The version of Landlock's interface that this kernel has; 0 for none.
int LandlockAbi();

// kUnavailable, naming the kernel's version and what is needed.
Error NoLandlock();

// Commands confined by the launcher alone: Landlock for files, seccomp for the network, no
// capabilities, and a pid namespace where one may be made. Paths are the host's own.
class LandlockBackend : public Backend {
 public:
  // With a transaction, the workspace's path is that of its overlay.
  explicit LandlockBackend(LandlockPolicy policy, TransactionOfBackend transaction = {})
      : policy_(std::move(policy)), transaction_(std::move(transaction)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  const LandlockPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, SupervisorContext& shared) const;

  LandlockPolicy policy_;
  TransactionOfBackend transaction_;
};

}  // namespace native_runner

#pragma once

#include "policy/options/policy.h"
#include "supervise/preparation/backend.h"

namespace native_runner {

// Plans commands in a Firejail sandbox, confined by the policy's profile or, without one, by our
// plan (firejail.h). When nested, Firejail runs a command unconfined without reporting it, and it
// skips options that it can't apply. So nothing it promises is trusted: in every run, before the
// command starts, the launcher inside compares namespaces and, for our plan, files with the host's,
// and checks its capabilities.
class FirejailBackend : public Backend {
 public:
  explicit FirejailBackend(FirejailPolicy policy) : policy_(std::move(policy)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  const FirejailPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, const SupervisorContext& shared,
                           const HostView& view) const;
  RunRecord Record(const ExecRequest& request, const std::vector<std::string>& options) const;

  FirejailPolicy policy_;
};

}  // namespace native_runner

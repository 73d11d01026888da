#pragma once

#include "policy/options/policy.h"
#include "supervise/preparation/backend.h"

namespace native_runner {

// Commands in a Firejail sandbox, confined by the policy's profile or, where it has none, by a plan
// of ours (firejail.h). Firejail runs a command unconfined, without a word, where it is
// nested, and passes over an option that it can't follow; so nothing it promises is believed: the
// launcher inside compares namespaces and, of a plan, files with the host's, and looks at its
// capabilities before the command starts, in every run.
class FirejailBackend : public Backend {
 public:
  explicit FirejailBackend(FirejailPolicy policy) : policy_(std::move(policy)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

  const FirejailPolicy& policy() const { return policy_; }

 private:
  Result<Preparation> Plan(const ExecRequest& request, SupervisorContext& shared) const;
  RunRecord Record(const ExecRequest& request, const std::vector<std::string>& options) const;

  FirejailPolicy policy_;
};

}  // namespace native_runner

#pragma once

#include "policy/policy.h"
#include "supervise/runtime.h"

namespace native_runner {

// Commands in a Bubblewrap sandbox, started by the launcher as its pid 1.
class BubblewrapRuntime : public Runtime {
 public:
  explicit BubblewrapRuntime(BubblewrapPolicy policy) : policy_(std::move(policy)) {}

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const override;

  std::optional<Error> Furnish(Preparation* preparation) const override;

  // What Prepare would do here, as data, for `explain`; starts and opens nothing that stays.
  Result<Preparation> Plan(const ExecRequest& request, const Program& program,
                           Shared& shared) const;

  const BubblewrapPolicy& policy() const { return policy_; }

 private:
  BubblewrapPolicy policy_;
};

}  // namespace native_runner

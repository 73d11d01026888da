#pragma once

#include <memory>

#include "policy/options/limits.h"
#include "supervise/clone/sandbox_template.h"
#include "supervise/preparation/runtime.h"
#include "supervise/sandbox/sandbox_source.h"

namespace native_runner {

// Spawns what a plan says, in a cgroup of its own where it wants one. `shared` and `runtime`
// outlive it.
class SpawnSource final : public SandboxSource {
 public:
  // `limits`: of the cgroup.
  SpawnSource(Shared& shared, const Runtime& runtime, const Limits& limits, SpawnPlan plan)
      : shared_(shared), runtime_(runtime), limits_(limits), plan_(std::move(plan)) {}

  // Clones one where the plan says that it may and there is a template; else spawns it. kSetup when
  // the host refuses. No input is /dev/null, not an empty pipe: programs such as rg
  // tell the two apart.
  Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input) override;
  // kOrderOwnMounts where nothing is to be cut off, as far as the host's own mounts tell: then the
  // sandbox has its order at once.
  void Complete(OrderHeader* order) override;
  SandboxStart start() const override { return start_; }
  std::string cold_reason() const override { return plan_.cold_reason; }

 private:
  void FindTemplate();
  Result<std::unique_ptr<Sandbox>> Clone(std::unique_ptr<Cgroup>* cgroup,
                                         std::unique_ptr<SandboxNetwork>* network,
                                         Descriptor* input);

  Shared& shared_;
  const Runtime& runtime_;
  Limits limits_;
  SpawnPlan plan_;
  std::shared_ptr<SandboxTemplate> template_;  // to be cloned; or none
  SandboxStart start_ = SandboxStart::kCold;
};

}  // namespace native_runner

#include "supervise/runtimes/local_runtime.h"

#include "policy/options/workspace_path.h"
#include "supervise/os/workspace.h"

namespace native_runner {

RunRecord LocalRuntime::Unprepared(const ExecRequest& request) const {
  return {"local", request.argv[0], request.argv, policy_.shadow_dir, {}};
}

void LocalRuntime::Prepare(const ExecRequest& request, Shared& shared, Ready ready) const {
  ready(Plan(request, shared));
}

Result<Preparation> LocalRuntime::Plan(const ExecRequest& request, const Shared& shared) const {
  auto relative = WorkspaceRelative(request.cwd, "LocalNativeRunner");
  if (!relative) return relative.error();
  auto workspace = OpenWorkspace(policy_.shadow_dir);
  if (!workspace) return workspace.error();
  const auto kept = KeptOf(transaction_);
  if (!kept) return kept.error();
  const auto& entered = kept.value();
  if (entered) {
    if (auto error = TakeCopy(*entered, &*workspace)) return *error;
  }

  Preparation preparation;
  SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
  preparation.cwd = JoinPath(workspace->path, *relative);
  preparation.record = {
      "local", request.argv[0], request.argv, preparation.cwd, {Layer::kTreeKillSubreaper}};
  const auto limited = ApplyLimits(request.limits, shared.cgroups, false, &preparation);
  if (limited) return *limited;
  plan.spawn.path = "/proc/self/fd/" + std::to_string(shared.launcher.get());
  plan.spawn.argv = {"native-runner-launcher"};
  if (entered) {
    preparation.record.layers.Add(LayerOf(*entered));
    const int launcher = shared.launcher.get();
    if (auto error = EnterKept(entered, workspace->directory.get(), launcher, &plan)) return *error;
  }
  return preparation;
}

}  // namespace native_runner

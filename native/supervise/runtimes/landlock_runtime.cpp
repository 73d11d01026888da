#include "supervise/runtimes/landlock_runtime.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "policy/options/workspace_path.h"
#include "supervise/host/host.h"
#include "supervise/os/workspace.h"
#include "supervise/runtimes/landlock_rules.h"

namespace native_runner {
namespace {

constexpr long kCreateRuleset = 444;
constexpr unsigned kAskVersion = 1;

}  // namespace

Error NoLandlock() {
  utsname kernel{};
  uname(&kernel);
  return Error{
      ErrorCode::kUnavailable,
      std::string("Landlock needs Linux 5.13 or newer with landlock enabled, this kernel is ") +
          kernel.release,
      "use a newer kernel, or add landlock to the kernel's lsm= parameter"};
}

int LandlockAbi() {
  const long abi = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

RunRecord LandlockRuntime::Unprepared(const ExecRequest& request) const {
  return {"landlock", request.argv[0], request.argv, policy_.shadow_dir, {}};
}

void LandlockRuntime::Prepare(const ExecRequest& request, Shared& shared, Ready ready) const {
  ready(Plan(request, shared));
}

Result<Preparation> LandlockRuntime::Plan(const ExecRequest& request, Shared& shared) const {
  if (LandlockAbi() == 0) return NoLandlock();
  auto relative = WorkspaceRelative(request.cwd, "NativeRunner.exec");
  if (!relative) return relative.error();
  auto workspace = OpenWorkspace(policy_.shadow_dir);
  if (!workspace) return workspace.error();
  auto rules = LandlockRules(policy_, shared.host.FindSecrets(), workspace->path);
  if (!rules) return rules.error();

  Preparation preparation;
  SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
  preparation.rules = std::move(*rules);
  plan.workspace = workspace->path;
  preparation.cwd = JoinPath(workspace->path, *relative);
  preparation.record = {"landlock",
                        request.argv[0],
                        request.argv,
                        preparation.cwd,
                        {Layer::kNoCapabilities, Layer::kNoNewPrivs, Layer::kSeccomp}};
  preparation.order.flags = kOrderLandlock | kOrderScoped | kOrderNoNewPrivs | kOrderSeccomp |
                            kOrderDropCapabilities | kOrderNoCapabilities | kOrderMakeInit;
  auto& layers = preparation.record.layers;
  if (policy_.network == Network::kDeny) {
    preparation.order.flags |= kOrderNoSockets;
    layers.Add(Layer::kNoSockets);
  }
  if (geteuid() == 0) layers.Add(Layer::kSecretsMasked);
  if (auto error = ApplyLimits(request.limits, shared.cgroups, false, &preparation)) return *error;
  if (request.opens_session) preparation.order.flags |= kOrderSession;
  if (auto error = ApplyRequired(policy_.required, &preparation)) return *error;
  plan.spawn.path = "/proc/self/fd/" + std::to_string(shared.launcher.get());
  plan.spawn.argv = {"native-runner-launcher"};
  return preparation;
}

}  // namespace native_runner

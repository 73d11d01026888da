#include "supervise/runtimes/landlock_runtime.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "policy/options/workspace_path.h"
#include "policy/text/quote.h"
#include "supervise/host/host.h"
#include "supervise/os/real_path.h"
#include "supervise/os/workspace.h"
#include "supervise/runtimes/landlock_rules.h"

namespace native_runner {
namespace {

constexpr long kCreateRuleset = 444;
constexpr unsigned kAskVersion = 1;

// What could be written by its own path would be in the workspace as soon as it is committed.
std::optional<Error> CheckWriteDirs(const KeptWorkspace& kept, const LandlockPolicy& policy) {
  for (const std::string& path : policy.write_dirs) {
    if (!HoldsState(kept, RealPathAsFar(path))) continue;
    return Error{ErrorCode::kSetup,
                 "fsWriteDirs names " + QuotedShort(path) + ", by which commands could write to " +
                     kept.state + ", where the transaction is kept",
                 "keep transactions elsewhere (option `directory`), or leave it out"};
  }
  return std::nullopt;
}

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
  if (request.opens_session && request.limits.memory_bytes) {
    return Error{ErrorCode::kSetup, "Landlock has no private /tmp, which tmpBytes is the size of",
                 "leave tmpBytes out, or use Bubblewrap"};
  }
  auto workspace = OpenWorkspace(policy_.shadow_dir);
  if (!workspace) return workspace.error();
  const auto kept = KeptOf(transaction_);
  if (!kept) return kept.error();
  const auto& entered = kept.value();
  if (entered) {
    if (auto error = TakeCopy(*entered, &*workspace)) return *error;
  }
  auto rules = LandlockRules(policy_, shared.host.FindSecrets(), workspace->path);
  if (!rules) return rules.error();

  Preparation preparation;
  SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
  preparation.rules = std::move(*rules);
  plan.workspace = workspace->path;
  preparation.scene = std::make_shared<const DenialScene>(
      DenialScene{.wall = DenialScene::Wall::kLandlock,
                  .rules = preparation.rules,
                  .workspace = workspace->path,
                  .may_write_workspace = policy_.write_workspace,
                  .network = policy_.network});
  preparation.cwd = JoinPath(workspace->path, *relative);
  preparation.record = {"landlock",
                        request.argv[0],
                        request.argv,
                        preparation.cwd,
                        {Layer::kNoCapabilities, Layer::kNoNewPrivs, Layer::kSeccomp}};
  preparation.order.flags = kOrderLandlock | kOrderScoped | kOrderNoNewPrivs | kOrderSeccomp |
                            kOrderDropCapabilities | kOrderNoCapabilities | kOrderMakeInit;
  auto& layers = preparation.record.layers;
  if (policy_.network != Network::kAllow) {
    preparation.order.flags |= kOrderNoSockets;
    layers.Add(Layer::kNoSockets);
  }
  if (geteuid() == 0) layers.Add(Layer::kSecretsMasked);
  if (entered) layers.Add(LayerOf(*entered));
  if (auto error = ApplyLimits(request.limits, shared.cgroups, false, &preparation)) return *error;
  if (request.opens_session) preparation.order.flags |= kOrderSession;
  if (auto error = ApplyRequired(policy_.required, &preparation)) return *error;
  plan.spawn.path = "/proc/self/fd/" + std::to_string(shared.launcher.get());
  plan.spawn.argv = {"native-runner-launcher"};
  if (entered) {
    if (auto error = CheckWriteDirs(*entered, policy_)) return *error;
    const int launcher = shared.launcher.get();
    if (auto error = EnterKept(entered, workspace->directory.get(), launcher, &plan)) return *error;
  }
  return preparation;
}

}  // namespace native_runner

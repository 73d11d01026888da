#include "supervise/runtimes/firejail_runtime.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "policy/firejail/firejail_extra_args.h"
#include "policy/firejail/firejail_plan.h"
#include "policy/options/workspace_path.h"
#include "protocol/namespace_number.h"
#include "supervise/os/workspace.h"
#include "supervise/runtimes/firejail_host.h"

namespace native_runner {
namespace {

constexpr int kLauncherDescriptor = 5;  // beside the control socket, 3

constexpr const char* kInstall =
    "install Firejail (apt-get install firejail, dnf install firejail, pacman -S firejail, apk add "
    "firejail) or name its absolute path in firejailPath";

// The number of one of our own namespaces; 0 when it can't be read.
std::uint64_t NumberOf(const char* link) {
  std::array<char, 64> text{};
  return readlink(link, text.data(), text.size() - 1) <= 0 ? 0 : NamespaceNumber(text.data());
}

// The launcher refuses to run in the host's own namespaces, and takes no word for it.
void CheckNamespaces(Network network, Preparation* preparation) {
  OrderHeader& order = preparation->order;
  order.flags |= kOrderOwnMountNamespace | kOrderOwnPidNamespace;
  order.mount_namespace = NumberOf("/proc/self/ns/mnt");
  order.pid_namespace = NumberOf("/proc/self/ns/pid");
  order.network_namespace = NumberOf("/proc/self/ns/net");
  auto& layers = preparation->record.layers;
  layers.Add(Layer::kMountNamespace);
  layers.Add(Layer::kPidNamespace);
  if (network == Network::kAllow) return;
  order.flags |= kOrderOwnNetworkNamespace;
  layers.Add(Layer::kNetworkNamespace);
}

// What the caller's own options open is neither claimed nor checked, and the record says by which.
void UndoLayers(const std::vector<std::string>& extra_args, Preparation* preparation) {
  auto& layers = preparation->record.layers;
  for (const ExtraArg& arg : FirejailExtraArgs(extra_args)) {
    if (!arg.opens) continue;
    layers.Remove(arg.undone);
    if (arg.undone.Has(Layer::kNoCapabilities)) preparation->order.flags &= ~kOrderNoCapabilities;
    if (arg.undone.Has(Layer::kNetworkNamespace))
      preparation->order.flags &= ~kOrderOwnNetworkNamespace;
    layers.AddOpened(arg.text);
  }
}

void CheckFiles(const FirejailPlan& plan, const std::string& workspace, Preparation* preparation) {
  const auto& layers = preparation->record.layers;
  auto& rules = preparation->rules;
  rules.push_back(ShownRule(workspace));
  if (layers.Has(Layer::kHiddenFiles)) {
    auto hidden = HiddenRules(plan.hidden);
    std::move(hidden.begin(), hidden.end(), std::back_inserter(rules));
  }
  if (layers.Has(Layer::kReadOnlyRoot)) {
    auto read_only = ReadOnlyRules(plan.read_only);
    std::move(read_only.begin(), read_only.end(), std::back_inserter(rules));
  }
  preparation->order.flags |= kOrderCheckFiles;
}

}  // namespace

RunRecord FirejailRuntime::Record(const ExecRequest& request,
                                  const std::vector<std::string>& options) const {
  RunRecord record{"firejail", policy_.firejail_path, options, policy_.shadow_dir, {}};
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  return record;
}

RunRecord FirejailRuntime::Unprepared(const ExecRequest& request) const {
  return Record(request, FirejailOptions(policy_, {}));
}

void FirejailRuntime::Prepare(const ExecRequest& request, Shared& shared, Ready ready) const {
  ready(Plan(request, shared));
}

Result<Preparation> FirejailRuntime::Plan(const ExecRequest& request, Shared& shared) const {
  auto program = FindProgram(policy_.firejail_path, shared.programs->search_path());
  if (!program) {
    program.error().fix = kInstall;
    return program.error();
  }
  auto relative = WorkspaceRelative(request.cwd, "NativeRunner.exec");
  if (!relative) return relative.error();
  auto workspace = OpenWorkspace(policy_.shadow_dir);
  if (!workspace) return workspace.error();

  FirejailPlan plan;
  FirejailFacts facts;
  const bool plans = !policy_.profile;
  if (plans) {
    auto looked = LookForFirejail(policy_, workspace->path, shared.host.FindSecrets());
    if (!looked) return looked.error();
    facts = std::move(*looked);
    auto planned = PlanFirejail(facts);
    if (!planned) return planned.error();
    plan = std::move(*planned);
  }
  const std::vector<std::string> options = FirejailOptions(policy_, plan);

  Preparation preparation;
  SpawnPlan& spawns = preparation.plan.emplace<SpawnPlan>();
  preparation.scene =
      std::make_shared<const DenialScene>(DenialScene{.wall = DenialScene::Wall::kFirejail,
                                                      .workspace = workspace->path,
                                                      .network = policy_.network});
  preparation.cwd = JoinPath(workspace->path, *relative);
  preparation.record = Record(request, options);
  preparation.record.cwd = preparation.cwd;
  CheckNamespaces(policy_.network, &preparation);
  preparation.order.flags |= kOrderNoNewPrivs | kOrderSeccomp | kOrderNoCapabilities;
  auto& layers = preparation.record.layers;
  layers.Add(Layer::kNoCapabilities);
  layers.Add(Layer::kNoNewPrivs);
  layers.Add(Layer::kSeccomp);
  if (plans) {
    layers.Add(Layer::kHiddenFiles);
    layers.Add(Layer::kReadOnlyRoot);
    if (!facts.secrets.empty()) layers.Add(Layer::kSecretsMasked);
  }
  UndoLayers(policy_.extra_args, &preparation);
  if (plans) CheckFiles(plan, workspace->path, &preparation);
  if (auto error = ApplyLimits(request.limits, shared.cgroups, false, &preparation)) return *error;
  if (auto error = ApplyRequired(policy_.required, &preparation)) return *error;

  SpawnOptions& spawn = spawns.spawn;
  spawn.path = *program;
  spawn.argv = {"firejail"};
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.argv.push_back("/proc/self/fd/" + std::to_string(kLauncherDescriptor));
  spawn.inherited.push_back({shared.launcher.get(), kLauncherDescriptor});
  return preparation;
}

}  // namespace native_runner

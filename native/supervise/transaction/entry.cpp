#include "supervise/transaction/entry.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "policy/text/path.h"
#include "protocol/order.h"
#include "protocol/report.h"
#include "supervise/network/sandbox_network.h"

namespace native_runner {
namespace {

// The plan's previous holds, and the workspace that it runs in.
using Held = std::pair<std::shared_ptr<const void>, std::shared_ptr<const MountedWorkspace>>;

// Returns the first descriptor number above all that the plan passes.
int FreeNumber(const SpawnOptions& spawn) {
  int number = kControlDescriptor + 1;
  for (const Inherited& inherited : spawn.inherited)
    number = std::max(number, inherited.number + 1);
  return number;
}

std::string Step(char kind, int number) {
  return kind + std::to_string(number);
}

// Makes the plan keep the workspace until the end of its sandbox is proved.
void HoldMounted(const std::shared_ptr<const MountedWorkspace>& mounted, SpawnPlan* plan) {
  plan->holds = std::make_shared<const Held>(std::move(plan->holds), mounted);
  NoteEntry(*mounted);
}

// Builds the steps that make a spawned launcher enter existing namespaces or make new ones.
class Entry {
 public:
  // `image`: descriptor number of the program to execute; the highest so far.
  Entry(int image, SpawnPlan* plan) : image_(image), number_(image + 1), plan_(plan) {}

  void Join(const MountedWorkspace& mounted) {
    for (const Descriptor* joined : {&mounted.user_namespace, &mounted.mount_namespace}) {
      if (!joined->valid()) continue;
      plan_->spawn.inherited.push_back({joined->get(), number_});
      steps_.push_back(Step(kStepJoin, number_++));
    }
    if (mounted.copy.empty() && mounted.root.valid()) {
      plan_->spawn.inherited.push_back({mounted.root.get(), number_});
      steps_.push_back(Step(kStepShown, number_++) + ":" + mounted.path);
    }
    // The host may have installed something since the last command.
    for (const MountedCache& cache : mounted.caches) {
      plan_->spawn.inherited.push_back({cache.root.get(), number_});
      steps_.push_back(Step(kStepLookAgain, number_++));
    }
    has_user_namespace_ = mounted.user_namespace.valid();
  }

  // As the owner of the namespaces entered so far, or in new ones.
  void MakeMountNamespace() {
    const bool needs_user_namespace = !has_user_namespace_ && geteuid() != 0;
    steps_.push_back(std::string(1, kStepOwnMounts) + (needs_user_namespace ? "u" : ""));
    has_user_namespace_ = has_user_namespace_ || needs_user_namespace;
  }

  void KeepLinks(const std::vector<std::string>& links) {
    for (const std::string& link : links)
      steps_.push_back(kStepLink + link);
  }

  void KeepNodes(const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes)
      steps_.push_back(kStepDevice + node);
  }

  // Like the links, after them in the same mount namespace.
  void ShowCaches(const SpawnPlan& plan) {
    steps_.insert(steps_.end(), plan.caches.begin(), plan.caches.end());
    steps_.push_back(kStepShowCaches + std::to_string(plan.cache_bytes));
  }

  void MountDevicesReadOnly() { steps_.emplace_back(1, kStepDevices); }

  // The launcher binds the listeners, since ports below 1024 need the owner of the namespace: bwrap
  // could not bind them later.
  void MakeNetwork(const NetworkRules& rules) {
    for (std::string& step : NetworkSteps(rules, !has_user_namespace_ && geteuid() != 0))
      steps_.push_back(std::move(step));
  }

  void Order(int launcher) {
    steps_.push_back(Step(kStepExecute, image_));
    SpawnOptions& spawn = plan_->spawn;
    plan_->entry = EncodeOrder({.flags = kOrderNamespaces}, "", spawn.argv, {}, steps_);
    spawn.path = "/proc/self/fd/" + std::to_string(launcher);
    spawn.argv = {"native-runner-launcher", kNamespacesRole};
  }

 private:
  int image_;
  int number_;
  SpawnPlan* plan_;
  std::vector<std::string> steps_;
  bool has_user_namespace_ = false;
};

}  // namespace

void OrderRenames(const std::string& workspace, Preparation* preparation) {
  preparation->order.flags |= kOrderRenames;
  preparation->rules.push_back(kRuleOverlay + workspace);
}

std::optional<Error> EnterMounted(const std::shared_ptr<const MountedWorkspace>& mounted,
                                  const Program& program, int launcher, SpawnPlan* plan) {
  if (mounted) HoldMounted(mounted, plan);
  const bool joins = mounted && mounted->mount_namespace.valid();
  const bool is_root = geteuid() == 0;  // root inside is the owner of the host's device nodes
  SpawnOptions& spawn = plan->spawn;
  const bool has_mounts =
      !plan->links.empty() || !plan->caches.empty() || (!is_root && !plan->guarded_nodes.empty());
  if (!joins && !plan->network && !has_mounts) {
    spawn.guards_devices = is_root;
    spawn.guarded_nodes = plan->guarded_nodes;
    return std::nullopt;
  }
  const int image = FreeNumber(spawn);
  if (program.image.valid()) {
    spawn.inherited.push_back({program.image.get(), image});
  } else {
    TRY_ASSIGN(auto opened, OpenPath(program.path.c_str(), O_PATH));
    spawn.Give(std::move(opened), image);
  }
  Entry entry(image, plan);
  if (joins) entry.Join(*mounted);
  // A bwrap that is a script, which has no image, is executed without.
  if (is_root && program.image.valid()) entry.MountDevicesReadOnly();
  // The last mount namespace: bwrap finds the paths of the caches' roots in it.
  if (has_mounts) entry.MakeMountNamespace();
  entry.KeepNodes(plan->guarded_nodes);
  entry.KeepLinks(plan->links);
  if (!plan->caches.empty()) entry.ShowCaches(*plan);
  if (plan->network) entry.MakeNetwork(plan->network->rules);
  entry.Order(launcher);
  return std::nullopt;
}

std::optional<Error> EnterMounted(const std::shared_ptr<const MountedWorkspace>& mounted,
                                  int workspace, int launcher, SpawnPlan* plan) {
  if (!mounted->copy.empty()) {
    HoldMounted(mounted, plan);
    return std::nullopt;
  }
  TRY(CheckUnmoved(*mounted, workspace));
  const int image = FreeNumber(plan->spawn);
  plan->spawn.inherited.push_back({launcher, image});
  Entry entry(image, plan);
  entry.Join(*mounted);
  entry.Order(launcher);
  HoldMounted(mounted, plan);
  return std::nullopt;
}

std::optional<Error> TakeCopy(const MountedWorkspace& mounted, Workspace* workspace) {
  if (mounted.copy.empty()) return std::nullopt;
  TRY(CheckUnmoved(mounted, workspace->directory.get()));
  TRY_ASSIGN(auto root, DuplicateOf(mounted.root.get()));
  workspace->directory = std::move(root);
  workspace->path = mounted.copy;
  return std::nullopt;
}

Layer LayerOf(const MountedWorkspace& mounted) {
  return mounted.copy.empty() ? Layer::kTransactionOverlay : Layer::kTransactionCopy;
}

bool HoldsState(const MountedWorkspace& mounted, const std::string& path) {
  return PathCovers(path, mounted.state) || PathCovers(mounted.state, path);
}

Result<std::shared_ptr<const MountedWorkspace>> MountedOf(const TransactionOfBackend& transaction) {
  if (!transaction) return std::shared_ptr<const MountedWorkspace>();
  auto mounted = transaction->Enter();
  if (mounted) return mounted;
  return Error{ErrorCode::kClosed, "the transaction was closed", "open another one"};
}

std::optional<Error> CheckUnmoved(const MountedWorkspace& mounted, int directory) {
  return CheckUnmoved(mounted.path, mounted.below, directory);
}

std::optional<Error> CheckUnmoved(const std::string& path, const FileIdentity& before,
                                  int directory) {
  TRY_ASSIGN(const auto now, IdentityOf(directory));
  if (now == before) return std::nullopt;
  return Error{ErrorCode::kSetup,
               "the workspace " + path + " was replaced while its transaction was open",
               "put the directory back, or discard the transaction"};
}

}  // namespace native_runner

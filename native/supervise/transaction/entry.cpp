#include "supervise/transaction/entry.h"

#include <fcntl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "policy/text/path.h"
#include "protocol/report.h"
#include "protocol/step.h"

namespace native_runner {
namespace {

// What a plan holds already, and what it runs in.
using Held = std::pair<std::shared_ptr<const void>, std::shared_ptr<const KeptWorkspace>>;

// The first of the numbers that the plan gives nothing to, and nothing after it.
int FreeNumber(const SpawnOptions& spawn) {
  int number = kControlDescriptor + 1;
  for (const Inherited& inherited : spawn.inherited)
    number = std::max(number, inherited.number + 1);
  return number;
}

std::string Step(char kind, int number) {
  return kind + std::to_string(number);
}

// The plan keeps it until the end of what is spawned is proved.
void HoldKept(const std::shared_ptr<const KeptWorkspace>& kept, SpawnPlan* plan) {
  plan->holds = std::make_shared<const Held>(std::move(plan->holds), kept);
  NoteEntry(*kept);
}

// `image`: the number at which what is spawned finds what it is to become; the last one so far.
void Enter(const std::shared_ptr<const KeptWorkspace>& kept, int image, int launcher,
           SpawnPlan* plan) {
  SpawnOptions& spawn = plan->spawn;
  int number = image + 1;
  std::vector<std::string> steps;
  for (const Descriptor* joined : {&kept->user_namespace, &kept->mount_namespace}) {
    if (!joined->valid()) continue;
    spawn.inherited.push_back({joined->get(), number});
    steps.push_back(Step(kStepJoin, number++));
  }
  spawn.inherited.push_back({kept->root.get(), number});
  steps.push_back(Step(kStepShown, number) + ":" + kept->path);
  steps.push_back(Step(kStepExecute, image));
  plan->entry = EncodeOrder({.flags = kOrderNamespaces}, "", spawn.argv, {}, steps);
  spawn.path = "/proc/self/fd/" + std::to_string(launcher);
  spawn.argv = {"native-runner-launcher", kNamespacesRole};
  HoldKept(kept, plan);
}

}  // namespace

void OrderRenames(const std::string& workspace, Preparation* preparation) {
  preparation->order.flags |= kOrderRenames;
  preparation->rules.push_back(kRuleOverlay + workspace);
}

std::optional<Error> EnterKept(const std::shared_ptr<const KeptWorkspace>& kept,
                               const Program& program, int launcher, SpawnPlan* plan) {
  if (!kept->copy.empty()) {
    HoldKept(kept, plan);
    return std::nullopt;
  }
  SpawnOptions& spawn = plan->spawn;
  const int image = FreeNumber(spawn);
  if (program.image.valid()) {
    spawn.inherited.push_back({program.image.get(), image});
  } else {
    auto opened = OpenPath(program.path.c_str(), O_PATH);
    if (!opened) return opened.error();
    spawn.Give(std::move(*opened), image);
  }
  Enter(kept, image, launcher, plan);
  return std::nullopt;
}

std::optional<Error> EnterKept(const std::shared_ptr<const KeptWorkspace>& kept, int workspace,
                               int launcher, SpawnPlan* plan) {
  if (!kept->copy.empty()) {
    HoldKept(kept, plan);
    return std::nullopt;
  }
  if (auto error = CheckUnmoved(*kept, workspace)) return error;
  const int image = FreeNumber(plan->spawn);
  plan->spawn.inherited.push_back({launcher, image});
  Enter(kept, image, launcher, plan);
  return std::nullopt;
}

std::optional<Error> TakeCopy(const KeptWorkspace& kept, Workspace* workspace) {
  if (kept.copy.empty()) return std::nullopt;
  if (auto error = CheckUnmoved(kept, workspace->directory.get())) return error;
  auto root = DuplicateOf(kept.root.get());
  if (!root) return root.error();
  workspace->directory = std::move(*root);
  workspace->path = kept.copy;
  return std::nullopt;
}

Layer LayerOf(const KeptWorkspace& kept) {
  return kept.copy.empty() ? Layer::kTransactionOverlay : Layer::kTransactionCopy;
}

bool HoldsState(const KeptWorkspace& kept, const std::string& path) {
  return PathCovers(path, kept.state) || PathCovers(kept.state, path);
}

Result<std::shared_ptr<const KeptWorkspace>> KeptOf(const TransactionOfRuntime& transaction) {
  if (!transaction) return std::shared_ptr<const KeptWorkspace>();
  auto kept = transaction->Enter();
  if (kept) return kept;
  return Error{ErrorCode::kClosed, "the transaction was closed", "open another one"};
}

std::optional<Error> CheckUnmoved(const KeptWorkspace& kept, int directory) {
  return CheckUnmoved(kept.path, kept.below, directory);
}

std::optional<Error> CheckUnmoved(const std::string& path, const FileIdentity& before,
                                  int directory) {
  const auto now = IdentityOf(directory);
  if (!now) return now.error();
  if (now.value() == before) return std::nullopt;
  return Error{ErrorCode::kSetup,
               "the workspace " + path + " was replaced while its transaction was open",
               "put the directory back, or discard the transaction"};
}

}  // namespace native_runner

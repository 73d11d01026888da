#include "effects/commit/roll_back.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "effects/commit/perform.h"
#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

// From the last to the first; those that were not done are passed over. Whoever does it again does
// what is left.
Result<RollBack> TakeBackAll(const Sites& sites, const std::vector<Operation>& operations) {
  RollBack roll_back;
  for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
    const auto progress = ProgressOf(sites, *operation);
    if (!progress) return progress.error();
    if (progress.value() == Progress::kBefore) continue;
    auto not_done = progress.value() == Progress::kOther
                        ? std::optional(NotDone{true, {}})
                        : Perform(sites, InverseOf(*operation), Likeness::kContent);
    if (!not_done) {
      roll_back.taken_back.push_back(*operation);
    } else if (not_done->is_conflict) {
      const bool is_from = operation->from.site == Site::kHost;
      roll_back.torn.push_back(Shown(is_from ? operation->from : operation->to));
    } else {
      return not_done->why;
    }
  }
  return roll_back;
}

}  // namespace

std::optional<Error> SyncSites(const Sites& sites) {
  const bool is_synced =
      syncfs(sites.host.root()) == 0 && (!sites.kept || syncfs(sites.kept->root()) == 0);
  return is_synced ? std::nullopt : std::optional(SystemError("syncfs", errno));
}

Result<RollBack> TakeBack(const Sites& sites, const Journal& plan) {
  auto roll_back = TakeBackAll(sites, plan.operations);
  if (!roll_back) return roll_back;
  if (auto error = SyncSites(sites)) return *error;
  return roll_back;
}

Result<Journal> KeepBegun(const CommitDirectory& directory, const Sites& sites, Journal plan) {
  auto earlier = directory.Read(CommitDirectory::kBegun);
  if (earlier && *earlier) return std::move(**earlier);
  std::size_t begun = plan.operations.size();
  for (; begun > 0; --begun) {
    const auto progress = ProgressOf(sites, plan.operations[begun - 1]);
    if (!progress) return progress.error();
    if (progress.value() != Progress::kBefore) break;
  }
  plan.operations.resize(begun);
  // On a full disk there is the plan, which says no less.
  if (begun > 0) static_cast<void>(directory.Write(CommitDirectory::kBegun, plan));
  return plan;
}

void FollowDone(const CommitDirectory& directory, const Sites& sites, const Journal& undo) {
  auto done = directory.Read(CommitDirectory::kDone);
  if (!done || !*done) return;
  std::vector<Operation>& operations = (*done)->operations;
  SitesView view(sites);
  const auto follow = [&view](const SitePath& place, HostFile* file) {
    const auto now = view.Look(place);
    if (now && now.value() && now.value()->HasSameContent(*file)) *file = *now.value();
  };
  // The last of a commit is the first of its undo.
  const std::size_t most = std::min(operations.size(), undo.operations.size());
  for (std::size_t at = operations.size() - most; at < operations.size(); ++at) {
    Operation& operation = operations[at];
    if (operation.kind == Operation::Kind::kAttributes) continue;
    follow(operation.to, &operation.from_file);
    if (operation.kind == Operation::Kind::kExchange) follow(operation.from, &operation.to_file);
  }
  static_cast<void>(directory.Write(CommitDirectory::kDone, **done));
}

std::optional<Error> Conclude(const CommitDirectory& directory, const RollBack& roll_back) {
  if (auto error = directory.Drop(CommitDirectory::kBegun)) return error;
  return roll_back.torn.empty() ? directory.Drop(CommitDirectory::kPlan)
                                : directory.Rename(CommitDirectory::kPlan, CommitDirectory::kTorn);
}

}  // namespace native_runner

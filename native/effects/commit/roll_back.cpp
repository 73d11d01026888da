#include "effects/commit/roll_back.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "effects/commit/perform.h"
#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

// From the last to the first; those that were not done are passed over. Whoever does it again does
// what is left.
Result<RollBack> TakeBack(const Sites& sites, const std::vector<Operation>& operations) {
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

std::optional<Error> SyncTree(int tree) {
  if (syncfs(tree) == 0) return std::nullopt;
  return SystemError("syncfs", errno);
}

Result<RollBack> RollBackPlan(const CommitDirectory& directory, const Sites& sites,
                              const Journal& plan) {
  auto roll_back = TakeBack(sites, plan.operations);
  if (!roll_back) return roll_back;
  if (auto error = SyncTree(sites.host.root())) return *error;
  auto error = roll_back->torn.empty()
                   ? directory.Drop(CommitDirectory::kPlan)
                   : directory.Rename(CommitDirectory::kPlan, CommitDirectory::kTorn);
  if (error) return *error;
  return roll_back;
}

}  // namespace native_runner

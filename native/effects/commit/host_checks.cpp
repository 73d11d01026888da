#include "effects/commit/host_checks.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace native_runner {
namespace {

// Whether what was taken from the host is what it was when the commit was done.
Result<bool> IsKept(const Sites& sites, const Operation& operation) {
  const bool is_exchange = operation.kind == Operation::Kind::kExchange;
  const SitePath& place = is_exchange ? operation.from : operation.to;
  const HostFile& file = is_exchange ? operation.to_file : operation.from_file;
  const auto now = sites.Look(place);
  if (!now) return now.error();
  if (!now.value()) return false;
  return file.is_directory() ? now.value()->IsSameInode(file)
                             : static_cast<const HostFile&>(*now.value()) == file;
}

}  // namespace

std::vector<std::string> ChangedByHost(const std::vector<Operation>& operations,
                                       const Ledger& ledger) {
  std::vector<std::string> changed;
  // What the plan itself has made, or given another mode, is not the host's own any more.
  std::set<std::string_view> made;
  std::set<std::string_view> set;
  for (const Operation& operation : operations) {
    const bool is_exchange = operation.kind == Operation::Kind::kExchange;
    const bool is_move = operation.kind == Operation::Kind::kMove;
    if (is_move && operation.to.site == Site::kHost) made.insert(operation.to.path);
    const SitePath& place = is_exchange ? operation.to : operation.from;
    if (place.site != Site::kHost || made.count(place.path) != 0) continue;
    const bool is_attributes = operation.kind == Operation::Kind::kAttributes;
    if (is_attributes && !set.insert(place.path).second) continue;
    const HostFile& file = is_exchange ? operation.to_file : operation.from_file;
    const auto known = ledger.baselines.find(Shown(place));
    bool is_other = false;
    if (known != ledger.baselines.end()) {
      is_other = HostHasChanged(known->second, file, is_move);
    } else if (!is_attributes) {
      is_other = file.changed_ns >= SinceAbove(ledger, place.path);
    }
    if (is_other) changed.push_back(Shown(place));
  }
  return changed;
}

Result<std::vector<std::string>> ChangedSince(const Sites& sites, const Journal& done) {
  std::vector<std::string> changed;
  for (const Operation& operation : done.operations) {
    if (operation.kind == Operation::Kind::kAttributes) continue;
    const bool is_put = operation.to.site == Site::kHost;
    if (!is_put && operation.from.site != Site::kHost) continue;
    const SitePath& place = is_put ? operation.to : operation.from;
    const auto now = sites.Look(place);
    if (!now) return now.error();
    const HostFile& file = operation.from_file;
    bool is_same = !now.value();
    if (is_put) {
      is_same =
          now.value() && (file.is_directory() ? now.value()->IsSameInode(file)
                                              : static_cast<const HostFile&>(*now.value()) == file);
    } else if (now.value()) {
      // A file that the commit has put in the place of what it removed.
      const auto is_other = [&place](const Operation& other) { return other.to == place; };
      is_same = std::any_of(done.operations.begin(), done.operations.end(), is_other);
    }
    const bool takes = !is_put || operation.kind == Operation::Kind::kExchange;
    const auto kept = takes && sites.is_exposed ? IsKept(sites, operation) : Result<bool>(true);
    if (!kept) return kept.error();
    if (!is_same || !kept.value()) changed.push_back(Shown(place));
  }
  return changed;
}

}  // namespace native_runner

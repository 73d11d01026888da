#include "workspace/commit/contents.h"

#include <cstddef>
#include <map>
#include <utility>

#include "policy/transaction/file_times.h"
#include "supervise/os/file.h"
#include "workspace/changes/noted_contents.h"

namespace native_runner {
namespace {

// Returns the place of the host's file that an operation takes away or replaces; nullptr: it does
// neither.
const SitePath* TakenBy(const Operation& operation) {
  if (operation.kind == Operation::Kind::kExchange) return &operation.to;
  const bool is_move = operation.kind == Operation::Kind::kMove;
  return is_move && operation.from.site == Site::kHost ? &operation.from : nullptr;
}

}  // namespace

bool HasContents(SitesView* view, const SitePath& place,
                 const std::optional<std::uint64_t>& contents) {
  if (!contents) return true;
  const auto directory = view->ParentOf(place);
  return directory && directory.value() != nullptr &&
         HasNoted(*directory.value(), std::string(SplitPath(place.path).name), contents);
}

void AddContents(const Ledger& ledger, std::vector<Operation>* operations) {
  for (Operation& operation : *operations) {
    const SitePath* taken = TakenBy(operation);
    if (taken == nullptr) continue;
    const auto known = ledger.baselines.find(Shown(*taken));
    if (known != ledger.baselines.end()) operation.contents = known->second.contents;
  }
}

std::vector<std::string> WrittenMeanwhile(const Sites& sites, const Journal& plan) {
  std::map<std::pair<Site, std::string>, const Operation*> taken;  // by where it is by now
  for (const Operation& operation : plan.operations) {
    const bool is_move = operation.kind == Operation::Kind::kMove;
    auto moved = is_move ? taken.extract({operation.from.site, operation.from.path})
                         : decltype(taken)::node_type();
    if (!moved.empty()) {
      moved.key() = {operation.to.site, operation.to.path};
      taken.insert(std::move(moved));
    }
    if (TakenBy(operation) == nullptr || !operation.contents) continue;
    const SitePath& place = is_move ? operation.to : operation.from;
    taken.emplace(std::pair(place.site, place.path), &operation);
  }
  std::vector<std::string> written;
  SitesView view(sites);
  for (const auto& [key, operation] : taken) {
    const SitePath place = {key.first, key.second};
    const bool is_move = operation->kind == Operation::Kind::kMove;
    const HostFile& file = is_move ? operation->from_file : operation->to_file;
    const auto now = view.Look(place);
    if (!now || !now.value() || !now.value()->HasSameContent(file)) continue;
    if (!HasContents(&view, place, operation->contents)) {
      written.push_back(Shown(*TakenBy(*operation)));
    }
  }
  return written;
}

Contents ToBePut(const Sites& sites, const std::vector<Operation>& operations) {
  const bool hides_writes = HidesMappedWrites(sites.host.root());
  const std::uint64_t now = FileClock();
  Contents contents(operations.size());
  SitesView view(sites);
  std::map<std::string, SitePath> origins;  // of files in the backup
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const Operation& operation = operations[at];
    const HostFile& file = operation.from_file;
    const bool is_move = operation.kind == Operation::Kind::kMove;
    if (is_move && operation.to.site == Site::kBackup) {
      origins.insert_or_assign(operation.to.path, operation.from);
    }
    if (operation.to.site != Site::kHost || operation.kind == Operation::Kind::kAttributes)
      continue;
    if (file.is_directory() || (!hides_writes && !MayBeSince(file.modified_ns, now))) continue;
    const auto origin = origins.find(operation.from.path);
    const bool has_moved = operation.from.site == Site::kBackup && origin != origins.end();
    const SitePath& place = has_moved ? origin->second : operation.from;
    const auto directory = view.ParentOf(place);
    if (!directory || directory.value() == nullptr) continue;
    const std::string name(SplitPath(place.path).name);
    const auto node = directory.value()->Look(name);
    if (node && node.value()) contents[at] = ContentsOf(*directory.value(), name, *node.value());
  }
  return contents;
}

}  // namespace native_runner

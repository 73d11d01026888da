#include "effects/commit/taken_back.h"

#include <cstdint>
#include <optional>
#include <set>

#include "effects/changes/same_file.h"
#include "effects/commit/sites.h"

namespace native_runner {
namespace {

// Of a directory, what else is in it is looked at by itself.
bool IsSame(const Node& now, const HostFile& known) {
  if (!known.is_directory()) return now.HasSameContent(known);
  return now.IsSameInode(known) && now.HasSameAttributes(known);
}

// What the plan took for the host's own at one of an operation's places.
const HostFile* PlannedAt(const Operation& operation, const SitePath& place) {
  if (place.site != Site::kHost) return nullptr;
  if (&place == &operation.from) return &operation.from_file;
  return operation.kind == Operation::Kind::kExchange ? &operation.to_file : nullptr;
}

std::optional<Node> LookAt(const ScannedTree& lower, std::string_view path) {
  const auto [parent, name] = SplitPath(path);
  const auto directory = lower.OpenIfThere(parent);
  if (!directory || !directory.value()) return std::nullopt;
  const auto now = directory.value()->Look(std::string(name));
  return now ? now.value() : std::nullopt;
}

void Follow(const ScannedTree& lower, const SitePath& place, const HostFile* planned,
            Ledger* ledger) {
  const std::string path = place.path.empty() ? "." : place.path;
  const auto found = ledger->baselines.find(path);
  const bool is_known = found != ledger->baselines.end();
  if (is_known ? !found->second.host : planned == nullptr) return;
  const auto now = LookAt(lower, place.path);
  if (!now || !IsSame(*now, is_known ? *found->second.host : *planned)) return;
  if (is_known) {
    found->second.host = *now;
  } else {
    ledger->baselines.emplace(path, Baseline{SinceAbove(*ledger, path), false, *now});
  }
}

void FollowDirectory(const ScannedTree& lower, const std::string& path, Ledger* ledger) {
  const auto known = ledger->baselines.find(path.empty() ? "." : path);
  if (known == ledger->baselines.end() || !known->second.host) return;
  HostFile& directory = *known->second.host;
  const auto now = LookAt(lower, path);
  if (now && directory.is_directory() && IsSame(*now, directory)) directory = *now;
}

}  // namespace

void FollowDirectories(const ScannedTree& lower, const std::vector<Operation>& touched,
                       Ledger* ledger) {
  for (const Operation& operation : touched) {
    for (const SitePath* place : {&operation.from, &operation.to}) {
      if (place->site != Site::kHost || place->path.empty()) continue;
      FollowDirectory(lower, std::string(SplitPath(place->path).parent), ledger);
    }
  }
}

void AddEmptied(const Journal& plan, std::vector<Operation>* begun) {
  std::set<std::string> parents;
  for (const Operation& operation : *begun) {
    if (operation.from.site != Site::kHost) continue;
    parents.emplace(SplitPath(operation.from.path).parent);
  }
  for (const Operation& operation : plan.operations) {
    const bool is_removal =
        operation.kind == Operation::Kind::kMove && operation.from.site == Site::kHost;
    if (is_removal && parents.count(operation.from.path) != 0) begun->push_back(operation);
  }
}

void FollowTakenBack(const ScannedTree& lower, const std::vector<Operation>& taken_back,
                     Ledger* ledger) {
  for (const Operation& operation : taken_back) {
    for (const SitePath* place : {&operation.from, &operation.to}) {
      if (place->site != Site::kHost && place->site != Site::kUpper) continue;
      Follow(lower, *place, PlannedAt(operation, *place), ledger);
    }
  }
  FollowDirectories(lower, taken_back, ledger);
}

Left LeftBy(const std::vector<Operation>& operations) {
  Left left;
  for (const Operation& operation : operations) {
    const bool is_attributes = operation.kind == Operation::Kind::kAttributes;
    const bool is_move = operation.kind == Operation::Kind::kMove;
    if (is_move && operation.from.site == Site::kHost) {
      left[Shown(operation.from)] = std::nullopt;
    }
    if (is_attributes) {
      left[Shown(operation.from)] = operation.to_file;
    } else if (operation.to.site == Site::kHost) {
      left[Shown(operation.to)] = operation.from_file;
    }
  }
  return left;
}

bool IsLeft(const std::optional<HostFile>& left, const std::optional<HostFile>& now) {
  if (!left || !now) return !left && !now;
  return left->is_directory() ? now->IsSameInode(*left) : now->HasSameContent(*left);
}

void SuspectOthers(const std::vector<Operation>& touched, Ledger* ledger) {
  for (const auto& [path, left] : LeftBy(touched)) {
    const auto known = ledger->baselines.find(path);
    if (known != ledger->baselines.end() && !IsLeft(left, known->second.host)) {
      known->second.is_suspect = true;
    }
  }
}

void FollowLeft(const ScannedTree& lower, const std::vector<Operation>& touched,
                const std::vector<Change>& left, Ledger* ledger) {
  std::set<std::string_view> parents;
  for (const Operation& operation : touched)
    if (operation.from.site == Site::kHost) parents.insert(SplitPath(operation.from.path).parent);
  for (const Change& change : left) {
    const bool is_touched = change.mode == 0 && parents.count(change.path) != 0;
    const bool is_known = ledger->baselines.find(change.path) != ledger->baselines.end();
    if (change.conflict || !is_touched || is_known) continue;
    const auto now = LookAt(lower, change.path);
    if (!now || now->mode != change.previous_mode) continue;
    const std::uint64_t since = SinceAbove(*ledger, change.path);
    ledger->baselines.emplace(change.path, Baseline{since, false, *now});
  }
}

bool IsHiddenFromAbove(const ScannedTree& upper, std::string_view path,
                       const std::set<std::string, std::less<>>& seen) {
  while (!path.empty()) {
    path = SplitPath(path).parent;
    if (seen.find(path) == seen.end()) continue;
    const auto directory = upper.OpenIfThere(path);
    if (!directory || !directory.value()) return true;
    const auto is_opaque =
        HasAttribute(directory.value()->descriptor(), "user.overlay.opaque", "y");
    return !is_opaque || is_opaque.value();
  }
  return false;
}

}  // namespace native_runner

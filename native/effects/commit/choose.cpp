#include "effects/commit/choose.h"

#include <sys/stat.h>

#include <set>
#include <string_view>

#include "policy/changes/change_version.h"
#include "policy/changes/protected_path.h"

namespace native_runner {
namespace {

using Paths = std::set<std::string, std::less<>>;

// Calls `use` with each directory above a path, from the lowest.
template <typename Use>
void ForEachAbove(std::string_view path, const Use& use) {
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    path = path.substr(0, slash);
    use(path);
  }
}

bool IsDirectory(std::uint32_t mode) {
  return S_ISDIR(mode);
}

bool IsKnownType(std::uint32_t mode) {
  return mode == 0 || S_ISREG(mode) || S_ISLNK(mode) || S_ISDIR(mode);
}

// A FIFO, a socket or a device, now or before; but one that the host has put there meanwhile is a
// conflict, which keeps all else from being committed.
bool IsOther(const Change& change) {
  return !IsKnownType(change.mode) || (!IsKnownType(change.previous_mode) && !change.conflict);
}

bool IsMade(const Change& change) {
  return IsDirectory(change.mode) && !IsDirectory(change.previous_mode);
}

bool IsUnmade(const Change& change) {
  return IsDirectory(change.previous_mode) && !IsDirectory(change.mode);
}

// Directories above something of ours that stays, which therefore can't go; and what is to take
// their place can't come.
Paths HeldBy(const std::vector<Change>& all, const Paths& chosen) {
  Paths held;
  for (const Change& change : all) {
    const bool stays = change.previous_mode != 0 && chosen.find(change.path) == chosen.end();
    if (!stays) continue;
    ForEachAbove(change.path, [&held](std::string_view above) { held.emplace(above); });
  }
  return held;
}

// A directory that only has to be made for something else needs not have been seen.
std::vector<std::string> Unexpected(const std::vector<Change>& all, const ChosenChanges& result,
                                    const CommitRequest& request) {
  std::vector<std::string> unexpected;
  if (!request.expected) return unexpected;
  for (const Change& change : result.chosen) {
    const auto seen = request.expected->find(change.path);
    const bool is_seen = seen != request.expected->end();
    if (!is_seen ? !IsMade(change) : seen->second != VersionOf(change)) {
      unexpected.push_back(change.path);
    }
  }
  Paths known;
  for (const Change& change : all)
    known.insert(change.path);
  for (const auto& [path, version] : *request.expected)
    if (known.count(path) == 0) unexpected.push_back(path);
  return unexpected;
}

}  // namespace

ChosenChanges ChooseChanges(const std::vector<Change>& all, const CommitRequest& request) {
  Paths chosen;
  Paths needed;
  for (const Change& change : all) {
    if (!request.paths.Has(change.path) || IsOther(change)) continue;
    chosen.insert(change.path);
    if (change.mode == 0) continue;
    ForEachAbove(change.path, [&needed](std::string_view above) { needed.emplace(above); });
  }
  for (const Change& change : all)
    if (IsMade(change) && !IsOther(change) && needed.count(change.path) != 0) {
      chosen.insert(change.path);
    }
  // From the lowest up: a directory that stays holds those above it.
  const Paths held = HeldBy(all, chosen);
  Paths kept = held;
  for (auto change = all.rbegin(); change != all.rend(); ++change) {
    if (!IsUnmade(*change) || kept.count(change->path) == 0) continue;
    chosen.erase(change->path);
    ForEachAbove(change->path, [&kept](std::string_view above) { kept.emplace(above); });
  }
  // From the top down: what is to lie in a directory that is not made can't be.
  Paths missing;
  for (const Change& change : all) {
    bool has_place = true;
    ForEachAbove(change.path, [&](std::string_view above) {
      has_place = has_place && missing.find(above) == missing.end();
    });
    if (!has_place && change.mode != 0) chosen.erase(change.path);
    if (IsMade(change) && chosen.count(change.path) == 0) missing.insert(change.path);
  }
  ChosenChanges result;
  for (const Change& change : all) {
    if (chosen.count(change.path) == 0) {
      result.left.push_back(change);
      continue;
    }
    result.chosen.push_back(change);
    const bool ends_as_directory =
        IsDirectory(change.mode == 0 ? change.previous_mode : change.mode);
    const bool is_protected =
        IsProtected(change.path, ends_as_directory && !IsUnmade(change), request.protected_names);
    if (is_protected && !request.allowed.Has(change.path)) result.refused.push_back(change);
  }
  result.unexpected = Unexpected(all, result, request);
  return result;
}

}  // namespace native_runner

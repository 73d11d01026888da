#include "workspace/commit/choose.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "policy/text/digest.h"
#include "policy/text/path.h"
#include "policy/text/text.h"
#include "workspace/changes/patch.h"

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

// True for a FIFO, a socket or a device, now or before. One that the host has made meanwhile is a
// conflict instead, which prevents the commit.
bool IsOther(const Change& change) {
  return !IsKnownType(change.mode) || (!IsKnownType(change.previous_mode) && !change.conflict);
}

// True for a directory where the host has none; it may replace a file.
bool IsMade(const Change& change) {
  return IsDirectory(change.mode) && !IsDirectory(change.previous_mode);
}

bool IsUnmade(const Change& change) {
  return IsDirectory(change.previous_mode) && !IsDirectory(change.mode);
}

// Returns the directories above files that stay: they can't be removed or replaced.
Paths HeldBy(const std::vector<Change>& all, const Paths& chosen) {
  Paths held;
  for (const Change& change : all) {
    const bool stays = change.previous_mode != 0 && chosen.find(change.path) == chosen.end();
    if (!stays) continue;
    ForEachAbove(change.path, [&held](std::string_view above) { held.emplace(above); });
  }
  return held;
}

// Returns the paths of changes that were not seen as they are. A new directory counts as seen if a
// file in it was; a directory that replaces a file of the host's does not.
std::vector<std::string> Unexpected(const std::vector<Change>& all, const ChosenChanges& result,
                                    const CommitRequest& request) {
  std::vector<std::string> unexpected;
  if (!request.expected) return unexpected;
  Paths above_seen;
  for (const Change& change : result.chosen) {
    if (change.mode == 0 || request.expected->find(change.path) == request.expected->end()) {
      continue;
    }
    ForEachAbove(change.path, [&above_seen](std::string_view above) { above_seen.emplace(above); });
  }
  for (const Change& change : result.chosen) {
    const auto seen = request.expected->find(change.path);
    const bool is_new = IsMade(change) && change.previous_mode == 0;
    const bool is_expected = seen != request.expected->end()
                                 ? seen->second == VersionOf(change)
                                 : is_new && above_seen.count(change.path) != 0;
    if (!is_expected) unexpected.push_back(change.path);
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
  // From the lowest up: a directory that stays keeps those above it.
  const Paths held = HeldBy(all, chosen);
  Paths kept = held;
  for (auto change = all.rbegin(); change != all.rend(); ++change) {
    if (!IsUnmade(*change) || kept.count(change->path) == 0) continue;
    chosen.erase(change->path);
    ForEachAbove(change->path, [&kept](std::string_view above) { kept.emplace(above); });
  }
  // From the top down: nothing can be put into a directory that is not made.
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
  }
  result.unexpected = Unexpected(all, result, request);
  return result;
}

std::vector<Change> RefusedOf(const std::vector<Change>& chosen, const CommitRequest& request,
                              const std::string& workspace, const ProtectedPaths& git) {
  std::vector<Change> refused;
  for (const Change& change : chosen) {
    if (request.allowed.Has(change.path)) continue;
    const bool stays_directory = IsDirectory(change.mode);
    const std::string absolute = change.path == "." ? workspace : JoinPath(workspace, change.path);
    if (IsProtected(change.path, stays_directory, request.protected_names) ||
        git.Has(absolute, stays_directory)) {
      refused.push_back(change);
    }
  }
  return refused;
}

namespace {

bool IsBefore(const Change& one, const Change& other) {
  return one.path < other.path;
}

std::string DigestOf(const std::vector<std::uint8_t>& contents) {
  Sha256 digest;
  digest.Update(contents);
  return digest.Finish();
}

bool IsPart(const Change& change, const GivenContents& parts) {
  return parts.find(change.path) != parts.end();
}

void Insert(Change change, std::vector<Change>* changes) {
  const auto place = std::lower_bound(changes->begin(), changes->end(), change, IsBefore);
  changes->insert(place, std::move(change));
}

}  // namespace

Result<GivenContents> TakeParts(const ScannedTree& upper, const std::vector<Change>& chosen,
                                const GivenContents& given) {
  GivenContents parts;
  for (const auto& [path, contents] : given) {
    Change wanted;
    wanted.path = path;
    const auto change = std::lower_bound(chosen.begin(), chosen.end(), wanted, IsBefore);
    if (change == chosen.end() || change->path != path || !S_ISREG(change->mode)) {
      return Error{ErrorCode::kInvalidValue,
                   "Expected `contents` to name files that are committed, got " + QuotedShort(path),
                   ""};
    }
    std::vector<std::string> digests;
    if (change->size == contents.size()) MakeDigests(upper, {*change}, &digests);
    const bool is_whole = !digests.empty() && digests.front() == DigestOf(contents);
    if (!is_whole) parts.emplace(path, contents);
  }
  return parts;
}

std::vector<Change> WithoutParts(const std::vector<Change>& chosen, const GivenContents& parts) {
  std::vector<Change> whole;
  for (const Change& change : chosen)
    if (!IsPart(change, parts)) whole.push_back(change);
  return whole;
}

void DescribeParts(const std::vector<Change>& chosen, const GivenContents& parts,
                   std::vector<Change>* committed, std::vector<std::string>* digests) {
  for (Change change : chosen) {
    if (!IsPart(change, parts)) continue;
    change.size = parts.find(change.path)->second.size();
    Insert(std::move(change), committed);
  }
  digests->resize(committed->size());
  for (std::size_t at = 0; at < committed->size(); ++at) {
    const auto part = parts.find((*committed)[at].path);
    if (part != parts.end()) (*digests)[at] = DigestOf(part->second);
  }
}

void LeaveParts(const std::vector<Change>& chosen, const GivenContents& parts,
                std::vector<Change>* left) {
  for (Change change : chosen) {
    const auto part = parts.find(change.path);
    if (part == parts.end()) continue;
    change.kind = Change::Kind::kModified;
    change.previous_size = part->second.size();
    change.previous_mode = change.mode;
    Insert(std::move(change), left);
  }
}

}  // namespace native_runner

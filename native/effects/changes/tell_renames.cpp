#include "effects/changes/tell_renames.h"

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "effects/changes/same_file.h"

namespace native_runner {
namespace {

// Of files that are the same by their digest, so many are compared with one: only who makes files
// for it has more that differ.
constexpr std::size_t kMostCompared = 4;

bool IsGone(const Change& change) {
  return change.kind == Change::Kind::kDeleted && S_ISREG(change.previous_mode) &&
         change.previous_size > 0;
}

bool IsNew(const Change& change) {
  return change.kind == Change::Kind::kAdded && S_ISREG(change.mode) && change.size > 0;
}

std::string_view NameOf(const Change& change) {
  return SplitPath(change.path).name;
}

std::optional<Descriptor> OpenFile(const ScannedTree& tree, const Change& change) {
  const auto directory = tree.Open(SplitPath(change.path).parent);
  if (!directory) return std::nullopt;
  auto file = directory.value().OpenFile(std::string(NameOf(change)));
  if (!file) return std::nullopt;
  return std::move(*file);
}

class Pairing {
 public:
  Pairing(const ScannedTree& upper, const ScannedTree& lower, std::vector<Change>* changes)
      : upper_(upper), lower_(lower), changes_(*changes), digests_(changes->size()) {}

  void Run() {
    const std::set<std::uint64_t> sizes = SizesOfBoth();
    if (sizes.empty()) return;
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      const Change& change = changes_[at];
      const bool is_new = IsNew(change);
      if (!is_new && !IsGone(change)) continue;
      if (sizes.count(is_new ? change.size : change.previous_size) == 0) continue;
      const auto file = OpenFile(is_new ? upper_ : lower_, change);
      if (file) digests_[at] = DigestOf(file->get());
    }
    for (const bool by_name : {true, false})
      PairUp(by_name);
    std::size_t kept = 0;
    for (Change& change : changes_) {
      const auto at = static_cast<std::size_t>(&change - changes_.data());
      if (taken_.count(at) != 0) continue;
      if (kept != at) changes_[kept] = std::move(change);
      ++kept;
    }
    changes_.resize(kept);
  }

 private:
  // What both sides of a pair have in common: size, digest, and the name or nothing.
  using Common = std::tuple<std::uint64_t, std::uint64_t, std::string_view>;

  std::set<std::uint64_t> SizesOfBoth() const {
    std::set<std::uint64_t> gone;
    std::set<std::uint64_t> both;
    for (const Change& change : changes_)
      if (IsGone(change)) gone.insert(change.previous_size);
    for (const Change& change : changes_)
      if (IsNew(change) && gone.count(change.size) != 0) both.insert(change.size);
    return both;
  }

  void PairUp(bool by_name) {
    const auto common = [&](std::size_t at, std::uint64_t size) {
      return Common(size, *digests_[at], by_name ? NameOf(changes_[at]) : std::string_view());
    };
    std::map<Common, std::deque<std::size_t>> gone;
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      const Change& change = changes_[at];
      if (!digests_[at] || !IsGone(change) || taken_.count(at) != 0) continue;
      gone[common(at, change.previous_size)].push_back(at);
    }
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      if (!digests_[at] || !IsNew(changes_[at])) continue;
      const auto candidates = gone.find(common(at, changes_[at].size));
      if (candidates != gone.end()) TakeOneOf(&candidates->second, at);
    }
  }

  void TakeOneOf(std::deque<std::size_t>* candidates, std::size_t made) {
    Change& change = changes_[made];
    for (std::size_t at = 0; at < candidates->size() && at < kMostCompared; ++at) {
      const std::size_t place = (*candidates)[at];
      const Change& gone = changes_[place];
      if (!HaveSameContents(gone, change)) continue;
      change.kind = Change::Kind::kRenamed;
      change.from = gone.path;
      change.previous_size = gone.previous_size;
      change.previous_mode = gone.previous_mode;
      change.conflict |= gone.conflict;
      taken_.insert(place);
      candidates->erase(candidates->begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
  }

  bool HaveSameContents(const Change& gone, const Change& made) const {
    const auto one = OpenFile(lower_, gone);
    const auto other = OpenFile(upper_, made);
    return one && other && HaveSameBytes(one->get(), other->get(), made.size);
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  std::vector<Change>& changes_;
  std::vector<std::optional<std::uint64_t>> digests_;  // of those that may be a side
  std::set<std::size_t> taken_;
};

}  // namespace

void TellRenames(const ScannedTree& upper, const ScannedTree& lower, std::vector<Change>* changes) {
  Pairing(upper, lower, changes).Run();
}

}  // namespace native_runner

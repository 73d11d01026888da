#include "policy/git/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace native_runner {
namespace {

constexpr std::ptrdiff_t kMostDifferences = 300;  // that Myers' algorithm looks for
constexpr int kDeepest = 40;                      // nesting of ranges

using Number = std::uint32_t;  // of a line: equal lines have equal numbers

struct Range {
  std::size_t old_begin;
  std::size_t old_end;
  std::size_t new_begin;
  std::size_t new_end;
  int depth = 0;

  bool is_empty() const { return old_begin == old_end && new_begin == new_end; }
  bool has_one_side() const { return old_begin == old_end || new_begin == new_end; }
};

struct Match {
  std::size_t before;
  std::size_t after;
};

// Returns the longest subsequence of `matches` (in the order of `before`) that is in the order of
// `after` too.
std::vector<Match> LongestRising(const std::vector<Match>& matches) {
  std::vector<std::size_t> tails;  // the match that ends the best sequence of each length
  std::vector<std::size_t> previous(matches.size());
  for (std::size_t at = 0; at < matches.size(); ++at) {
    const auto place = std::lower_bound(
        tails.begin(), tails.end(), matches[at].after,
        [&matches](std::size_t tail, std::size_t after) { return matches[tail].after < after; });
    previous[at] = place == tails.begin() ? at : *(place - 1);
    if (place == tails.end()) {
      tails.push_back(at);
    } else {
      *place = at;
    }
  }
  std::vector<Match> rising(tails.size());
  std::size_t at = tails.empty() ? 0 : tails.back();
  for (std::size_t left = tails.size(); left > 0; --left) {
    rising[left - 1] = matches[at];
    at = previous[at];
  }
  return rising;
}

class Differ {
 public:
  Differ(std::vector<Number> before, std::vector<Number> after)
      : before_(std::move(before)), after_(std::move(after)) {}

  std::vector<LineChange> Run() {
    waiting_.push_back({0, before_.size(), 0, after_.size()});
    while (!waiting_.empty()) {
      const Range range = waiting_.back();
      waiting_.pop_back();
      Look(Trimmed(range));
    }
    std::sort(changes_.begin(), changes_.end(), [](const LineChange& one, const LineChange& other) {
      return std::pair(one.old_begin, one.new_begin) < std::pair(other.old_begin, other.new_begin);
    });
    return Joined();
  }

 private:
  Range Trimmed(Range range) const {
    while (!range.has_one_side() && before_[range.old_begin] == after_[range.new_begin]) {
      ++range.old_begin;
      ++range.new_begin;
    }
    while (!range.has_one_side() && before_[range.old_end - 1] == after_[range.new_end - 1]) {
      --range.old_end;
      --range.new_end;
    }
    return range;
  }

  void Look(const Range& range) {
    if (range.is_empty()) return;
    if (range.has_one_side() || range.depth > kDeepest) return Replace(range);
    const std::vector<Match> anchors = LongestRising(UniqueMatches(range));
    if (anchors.empty()) {
      if (!FindShortest(range)) Replace(range);
      return;
    }
    Range rest = range;
    ++rest.depth;
    for (const Match& anchor : anchors) {
      waiting_.push_back({rest.old_begin, anchor.before, rest.new_begin, anchor.after, rest.depth});
      rest.old_begin = anchor.before + 1;
      rest.new_begin = anchor.after + 1;
    }
    waiting_.push_back(rest);
  }

  void Replace(const Range& range) {
    changes_.push_back({range.old_begin, range.old_end, range.new_begin, range.new_end});
  }

  // Returns the lines that both sides have exactly once.
  std::vector<Match> UniqueMatches(const Range& range) const {
    struct Seen {
      std::size_t before = 0;
      std::size_t after = 0;
      int in_before = 0;
      int in_after = 0;
    };
    std::unordered_map<Number, Seen> seen;
    for (std::size_t at = range.old_begin; at < range.old_end; ++at) {
      Seen& line = seen[before_[at]];
      line.before = at;
      line.in_before = std::min(line.in_before + 1, 2);
    }
    for (std::size_t at = range.new_begin; at < range.new_end; ++at) {
      Seen& line = seen[after_[at]];
      line.after = at;
      line.in_after = std::min(line.in_after + 1, 2);
    }
    std::vector<Match> matches;
    for (std::size_t at = range.old_begin; at < range.old_end; ++at) {
      const Seen& line = seen[before_[at]];
      if (line.in_before == 1 && line.in_after == 1) matches.push_back({at, line.after});
    }
    return matches;
  }

  // Myers' algorithm: finds the furthest point on each diagonal for each number of differences.
  // Returns false if more than kMostDifferences are needed.
  bool FindShortest(const Range& range) {
    const auto height = static_cast<std::ptrdiff_t>(range.old_end - range.old_begin);
    const auto width = static_cast<std::ptrdiff_t>(range.new_end - range.new_begin);
    const std::ptrdiff_t most = std::min(kMostDifferences, height + width);
    const std::ptrdiff_t middle = most + 1;
    std::vector<std::ptrdiff_t> furthest(static_cast<std::size_t>(2 * middle + 1), 0);
    std::vector<std::vector<std::ptrdiff_t>> history;
    const auto at = [middle](std::ptrdiff_t diagonal) {
      return static_cast<std::size_t>(middle + diagonal);
    };
    for (std::ptrdiff_t differences = 0; differences <= most; ++differences) {
      history.push_back(furthest);
      for (std::ptrdiff_t diagonal = -differences; diagonal <= differences; diagonal += 2) {
        const bool goes_down =
            diagonal == -differences ||
            (diagonal != differences && furthest[at(diagonal - 1)] < furthest[at(diagonal + 1)]);
        std::ptrdiff_t x = goes_down ? furthest[at(diagonal + 1)] : furthest[at(diagonal - 1)] + 1;
        while (x < height && x - diagonal < width && x - diagonal >= 0 &&
               before_[range.old_begin + static_cast<std::size_t>(x)] ==
                   after_[range.new_begin + static_cast<std::size_t>(x - diagonal)]) {
          ++x;
        }
        furthest[at(diagonal)] = x;
        if (x >= height && x - diagonal >= width) {
          TakeWay(range, history, differences, middle);
          return true;
        }
      }
    }
    return false;
  }

  // Walks back along the path found: each step is one line that differs.
  void TakeWay(const Range& range, const std::vector<std::vector<std::ptrdiff_t>>& history,
               std::ptrdiff_t differences, std::ptrdiff_t middle) {
    auto x = static_cast<std::ptrdiff_t>(range.old_end - range.old_begin);
    auto y = static_cast<std::ptrdiff_t>(range.new_end - range.new_begin);
    for (; differences > 0; --differences) {
      const auto& furthest = history[static_cast<std::size_t>(differences)];
      const auto value = [&](std::ptrdiff_t diagonal) {
        return furthest[static_cast<std::size_t>(middle + diagonal)];
      };
      const std::ptrdiff_t diagonal = x - y;
      const bool goes_down = diagonal == -differences ||
                             (diagonal != differences && value(diagonal - 1) < value(diagonal + 1));
      x = goes_down ? value(diagonal + 1) : value(diagonal - 1);
      y = goes_down ? x - diagonal - 1 : x - diagonal + 1;
      const std::size_t old_at = range.old_begin + static_cast<std::size_t>(x);
      const std::size_t new_at = range.new_begin + static_cast<std::size_t>(y);
      changes_.push_back(
          {old_at, old_at + (goes_down ? 0U : 1U), new_at, new_at + (goes_down ? 1U : 0U)});
    }
  }

  std::vector<LineChange> Joined() const {
    std::vector<LineChange> joined;
    for (const LineChange& change : changes_) {
      if (!joined.empty() && joined.back().old_end == change.old_begin &&
          joined.back().new_end == change.new_begin) {
        joined.back().old_end = change.old_end;
        joined.back().new_end = change.new_end;
      } else {
        joined.push_back(change);
      }
    }
    return joined;
  }

  std::vector<Number> before_;
  std::vector<Number> after_;
  std::vector<Range> waiting_;
  std::vector<LineChange> changes_;
};

}  // namespace

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::vector<LineChange> DiffLines(std::span<const std::string_view> before,
                                  std::span<const std::string_view> after) {
  std::unordered_map<std::string_view, Number> numbers;
  const auto numbered = [&numbers](std::span<const std::string_view> lines) {
    std::vector<Number> all;
    all.reserve(lines.size());
    for (const std::string_view line : lines)
      all.push_back(numbers.emplace(line, static_cast<Number>(numbers.size())).first->second);
    return all;
  };
  std::vector<Number> old_numbers = numbered(before);
  return Differ(std::move(old_numbers), numbered(after)).Run();
}

}  // namespace native_runner

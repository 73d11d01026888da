#include "policy/git/patch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policy/text/digest.h"
#include "policy/text/text.h"

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

namespace {

constexpr std::size_t kMostStored = 65'535;  // bytes of a stored block (RFC 1951)
constexpr std::size_t kMostInLine = 52;
constexpr std::string_view kDigits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

char Low(std::size_t value) {
  return static_cast<char>(value & 255U);
}

// Adler-32 checksum (RFC 1950).
std::uint32_t Adler32(std::string_view bytes) {
  constexpr std::uint32_t kPrime = 65'521;
  std::uint32_t one = 1;
  std::uint32_t two = 0;
  for (const char byte : bytes) {
    one = (one + static_cast<std::uint8_t>(byte)) % kPrime;
    two = (two + one) % kPrime;
  }
  return (two << 16U) | one;
}

std::string Stored(std::string_view bytes) {
  const std::uint32_t check = Adler32(bytes);
  std::string stream = "\x78\x01";
  stream.reserve(bytes.size() + bytes.size() / 1000 + 32);
  do {
    const std::size_t size = std::min(bytes.size(), kMostStored);
    stream += size == bytes.size() ? '\1' : '\0';
    stream += Low(size);
    stream += Low(size >> 8U);
    stream += Low(~size);
    stream += Low(~size >> 8U);
    stream += bytes.substr(0, size);
    bytes.remove_prefix(size);
  } while (!bytes.empty());
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    stream += Low(check >> shift);
  return stream;
}

void AddLine(std::string_view bytes, std::string* text) {
  const auto size = static_cast<char>(bytes.size());
  *text += static_cast<char>(size <= 26 ? 'A' + size - 1 : 'a' + size - 27);
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    std::uint32_t word = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) {
      word <<= 8U;
      if (at + byte < bytes.size()) word |= static_cast<std::uint8_t>(bytes[at + byte]);
    }
    std::array<char, 5> digits{};
    for (std::size_t digit = digits.size(); digit > 0; --digit) {
      digits[digit - 1] = kDigits[word % 85];
      word /= 85;
    }
    text->append(digits.data(), digits.size());
  }
  *text += '\n';
}

}  // namespace

std::string GitLiteral(std::string_view bytes) {
  std::string text = "literal " + std::to_string(bytes.size()) + "\n";
  const std::string stream = Stored(bytes);
  std::string_view rest = stream;
  while (!rest.empty()) {
    AddLine(rest.substr(0, kMostInLine), &text);
    rest.remove_prefix(std::min(rest.size(), kMostInLine));
  }
  return text + "\n";
}

std::string GitBlobName(std::string_view bytes) {
  const std::string header = "blob " + std::to_string(bytes.size());
  return Sha1(std::string_view(header.c_str(), header.size() + 1), bytes);
}

namespace {

constexpr std::size_t kContext = 3;
constexpr std::size_t kLookedAtForNul = 8'000;  // git/xdiff-interface.c
constexpr std::string_view kNoName = "0000000000000000000000000000000000000000";
constexpr std::string_view kNothing = "/dev/null";

std::string ModeText(GitFile::Kind kind) {
  if (kind == GitFile::Kind::kLink) return "120000";
  return kind == GitFile::Kind::kProgram ? "100755" : "100644";
}

// Returns the first line of a patch.
std::string Header(std::string_view from, std::string_view to) {
  return "diff --git " + GitQuoted("a/" + std::string(from)) + " " +
         GitQuoted("b/" + std::string(to)) + "\n";
}

std::string ModeChange(GitFile::Kind before, GitFile::Kind after) {
  if (before == after) return "";
  return "old mode " + ModeText(before) + "\nnew mode " + ModeText(after) + "\n";
}

bool IsText(std::string_view bytes) {
  return bytes.substr(0, kLookedAtForNul).find('\0') == std::string_view::npos && IsUtf8(bytes);
}

void AddLine(char mark, std::string_view line, std::string* text) {
  *text += mark;
  *text += line;
  if (!line.ends_with('\n')) *text += "\n\\ No newline at end of file\n";
}

// Returns "START,COUNT", counted from 1; for an empty range START is the line before it.
std::string Position(std::size_t begin, std::size_t end) {
  return std::to_string(begin == end ? begin : begin + 1) + "," + std::to_string(end - begin);
}

// Adds one hunk: changes so close that their context meets, with that context.
void AddHunk(std::span<const LineChange> changes, std::span<const std::string_view> before,
             std::span<const std::string_view> after, std::string* text) {
  const std::size_t lead = std::min(changes.front().old_begin, kContext);
  const std::size_t trail = std::min(before.size() - changes.back().old_end, kContext);
  const std::size_t begin = changes.front().old_begin - lead;
  const std::size_t end = changes.back().old_end + trail;
  *text += "@@ -" + Position(begin, end) + " +" +
           Position(changes.front().new_begin - lead, changes.back().new_end + trail) + " @@\n";
  std::size_t at = begin;
  for (const LineChange& change : changes) {
    for (; at < change.old_begin; ++at)
      AddLine(' ', before[at], text);
    for (; at < change.old_end; ++at)
      AddLine('-', before[at], text);
    for (std::size_t made = change.new_begin; made < change.new_end; ++made)
      AddLine('+', after[made], text);
  }
  for (; at < end; ++at)
    AddLine(' ', before[at], text);
}

std::string Hunks(std::string_view before, std::string_view after) {
  const auto old_lines = SplitLines(before);
  const auto new_lines = SplitLines(after);
  const auto changes = DiffLines(old_lines, new_lines);
  std::string text;
  for (std::size_t first = 0; first < changes.size();) {
    std::size_t last = first;
    while (last + 1 < changes.size() &&
           changes[last + 1].old_begin - changes[last].old_end <= 2 * kContext) {
      ++last;
    }
    AddHunk(std::span(changes).subspan(first, last - first + 1), old_lines, new_lines, &text);
    first = last + 1;
  }
  return text;
}

// Patches one path whose file keeps its type, or is absent on one side.
std::string OnePatch(std::string_view path, const std::optional<GitFile>& before,
                     const std::optional<GitFile>& after) {
  const std::string_view old_bytes = before ? before->bytes : std::string_view();
  const std::string_view new_bytes = after ? after->bytes : std::string_view();
  const std::string old_name = GitQuoted("a/" + std::string(path));
  const std::string new_name = GitQuoted("b/" + std::string(path));
  std::string text = Header(path, path);
  const std::size_t bare = text.size();
  if (!before) {
    text += "new file mode " + ModeText(after->kind) + "\n";
  } else if (!after) {
    text += "deleted file mode " + ModeText(before->kind) + "\n";
  } else {
    text += ModeChange(before->kind, after->kind);
  }
  if (old_bytes == new_bytes) return text.size() == bare ? "" : text;
  if (IsText(old_bytes) && IsText(new_bytes)) {
    text += "--- " + (before ? old_name : std::string(kNothing)) + "\n";
    text += "+++ " + (after ? new_name : std::string(kNothing)) + "\n";
    return text + Hunks(old_bytes, new_bytes);
  }
  text += "index " + (before ? GitBlobName(old_bytes) : std::string(kNoName)) + ".." +
          (after ? GitBlobName(new_bytes) : std::string(kNoName)) + "\n";
  return text + "GIT binary patch\n" + GitLiteral(new_bytes) + GitLiteral(old_bytes);
}

}  // namespace

std::string GitPatch(std::string_view path, const std::optional<GitFile>& before,
                     const std::optional<GitFile>& after) {
  constexpr auto kLink = GitFile::Kind::kLink;
  if (before && after && (before->kind == kLink) != (after->kind == kLink)) {
    return OnePatch(path, before, std::nullopt) + OnePatch(path, std::nullopt, after);
  }
  return OnePatch(path, before, after);
}

std::string GitRename(std::string_view from, std::string_view to, GitFile::Kind before,
                      GitFile::Kind after) {
  return Header(from, to) + ModeChange(before, after) + "similarity index 100%\nrename from " +
         GitQuoted(from) + "\nrename to " + GitQuoted(to) + "\n";
}

std::string GitQuoted(std::string_view path) {
  std::string quoted = "\"";
  bool needs_quotes = false;
  for (const char character : path) {
    const auto byte = static_cast<std::uint8_t>(character);
    const bool is_plain = byte > ' ' && byte < 0x7f && character != '"' && character != '\\';
    needs_quotes |= !is_plain;
    if (is_plain || character == ' ') {
      quoted += character;
    } else {
      quoted += '\\';
      for (const unsigned shift : {6U, 3U, 0U})
        quoted += static_cast<char>('0' + ((byte >> shift) & 7U));
    }
  }
  return needs_quotes ? quoted + "\"" : std::string(path);
}

}  // namespace native_runner

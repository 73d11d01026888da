#include "policy/git/git_patch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/git/line_diff.h"
#include "policy/text/digest.h"
#include "policy/text/text.h"

namespace native_runner {
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

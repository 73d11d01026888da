#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// Lines [old_begin, old_end) of the old text become [new_begin, new_end) of the new one.
struct LineChange {
  std::size_t old_begin = 0;
  std::size_t old_end = 0;
  std::size_t new_begin = 0;
  std::size_t new_end = 0;
};

// Returns the lines, each with its newline; the last may have none. They are parts of `text`, which
// must live as long as they do.
std::vector<std::string_view> SplitLines(std::string_view text);
void SplitLines(std::same_as<std::string> auto&& temporary) = delete;

// Returns the changes from `before` to `after`, in order, none adjacent to another. Always correct
// and usually short. Matches lines that each text has once first (patience diff), and the ranges
// between them by Myers' algorithm ("An O(ND) Difference Algorithm and Its Variations") up to some
// hundred differences; replaces a range with more differences whole. Time is bounded by about n log
// n.
std::vector<LineChange> DiffLines(std::span<const std::string_view> before,
                                  std::span<const std::string_view> after);

// Returns the "literal" part of git's binary patches (git/apply.c): the bytes as an uncompressed
// zlib stream in base 85, followed by an empty line. A quarter larger than the bytes.
std::string GitLiteral(std::string_view bytes);

// Returns git's name for a file with these bytes (40 hexadecimal digits).
std::string GitBlobName(std::string_view bytes);

// A file, or a symbolic link with its target as the bytes, as git sees it.
struct GitFile {
  enum class Kind { kFile, kProgram, kLink };  // a program: its owner may execute it
  Kind kind = Kind::kFile;
  std::string_view bytes;
};

// Returns the change from `before` to `after` in the format of `git diff --binary`, which `git
// apply` accepts. At least one of them is present. Empty if git sees no difference. Bytes that are
// not UTF-8, or have a NUL among the first 8,000, become a binary patch, so the text is always
// UTF-8. `path`: relative, as bytes.
std::string GitPatch(std::string_view path, const std::optional<GitFile>& before,
                     const std::optional<GitFile>& after);

// Returns the patch that renames a file and may change its executable bit.
std::string GitRename(std::string_view from, std::string_view to, GitFile::Kind before,
                      GitFile::Kind after);

// Quotes a path as git does if needed: in double quotes, with octal escapes.
std::string GitQuoted(std::string_view path);

}  // namespace native_runner

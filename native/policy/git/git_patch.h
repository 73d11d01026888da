#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace native_runner {

// The "literal" part of git's binary patches (git/apply.c): the bytes as a zlib stream that is not
// compressed, in base 85, with an empty line behind. A quarter larger than the bytes.
std::string GitLiteral(std::string_view bytes);

// The name that git gives a file of these bytes (40 hexadecimal digits).
std::string GitBlobName(std::string_view bytes);

// A file, or a symbolic link with its target as the bytes, as git knows it.
struct GitFile {
  enum class Kind { kFile, kProgram, kLink };  // a program: its owner may execute it
  Kind kind = Kind::kFile;
  std::string_view bytes;
};

// What makes the one the other, in the format of `git diff --binary`, such that `git apply` takes
// it; not both are absent. Empty where git sees no difference. Bytes that are no UTF-8, or have a
// NUL among the first 8,000, are a binary patch: so all of the text is UTF-8 whatever the files
// are. `path`: relative, as bytes.
std::string GitPatch(std::string_view path, const std::optional<GitFile>& before,
                     const std::optional<GitFile>& after);

// What gives a file another name, and it may be its executable bit.
std::string GitRename(std::string_view from, std::string_view to, GitFile::Kind before,
                      GitFile::Kind after);

// As git quotes it where it has to: in double quotes, with octal escapes.
std::string GitQuoted(std::string_view path);

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// A transaction's change to one path of the workspace. Plain data.
struct Change {
  enum class Kind { kAdded, kModified, kDeleted, kRenamed };
  enum class Type { kFile, kDirectory, kSymlink, kOther };

  std::string path;  // relative to the workspace, as bytes; "." is the workspace itself
  std::string from;  // kRenamed: its path on the host, which has nothing at `path`
  Kind kind = Kind::kModified;
  Type type = Type::kFile;          // of the file that is there, or was
  std::uint64_t size = 0;           // bytes; 0 if deleted, and for directories
  std::uint64_t previous_size = 0;  // on the host, at `from` if set; 0 if nothing was there
  std::uint32_t mode = 0;           // as stat(2) returns it, with the type; 0 if deleted
  std::uint32_t previous_mode = 0;  // like previous_size
  std::uint32_t uid = 0;            // of the file that is there; 0 if deleted
  std::uint32_t gid = 0;
  std::string target;  // of a symbolic link
  // Distinguishes this state of the file from its other states, because ctime can't be set. 0 if
  // deleted, except for the ctime of an overlay's whiteout.
  std::uint64_t inode = 0;
  std::uint64_t changed_ns = 0;
  // SHA-256 of the contents of a file, or the target of a link, where inode and ctime may be those
  // of another state too; else empty.
  std::string digest;
  bool conflict = false;  // the host has changed it too
};

// Returns a text that differs for every other state of the path: contents, mode or owner of a file
// or link; for a directory only mode and owner, since its times change with its entries. That of a
// change with a digest begins with that of the same change without.
std::string VersionOf(const Change& change);

// A set of paths of a workspace, each with everything below it. A default-constructed filter has
// every path.
class PathFilter {
 public:
  PathFilter() = default;

  // Makes a filter from paths relative to the workspace; "." is all of it. Returns kInvalidValue,
  // naming `field`, for a path that is empty, absolute, or has a ".." or a NUL byte.
  static Result<PathFilter> Of(const std::vector<std::string>& paths,
                               std::string_view field = "paths");

  // Returns a filter with the same paths, without everything below them.
  PathFilter Exactly() const;

  bool Has(std::string_view path) const;

  // What `Of` makes the same filter from; empty: it has every path.
  std::vector<std::string> paths() const;

 private:
  bool has_all_ = true;
  bool is_exact_ = false;
  std::set<std::string, std::less<>> paths_;  // normal; "" is the workspace
};

// True if the host runs code from `path` by itself: one of `names` (".envrc", ".git/hooks",
// normalised) is at any depth of it, or above it. Ignores case, as some file systems do. A file
// that is not a directory is also protected if it is above such a name: a link in the place of
// ".git" leads to hooks elsewhere.
bool IsProtected(std::string_view path, bool is_directory, const std::vector<std::string>& names);

}  // namespace native_runner

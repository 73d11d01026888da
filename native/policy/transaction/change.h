#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// What a transaction makes of one path of the workspace. Plain data.
struct Change {
  enum class Kind { kAdded, kModified, kDeleted, kRenamed };
  enum class Type { kFile, kDirectory, kSymlink, kOther };

  std::string path;  // relative to the workspace, as bytes; "." is the workspace itself
  std::string from;  // kRenamed: where it was on the host, which has nothing at `path`
  Kind kind = Kind::kModified;
  Type type = Type::kFile;          // of what is there, or was
  std::uint64_t size = 0;           // bytes; 0 where nothing is left, and of directories
  std::uint64_t previous_size = 0;  // on the host, at `from` if it has one; 0 where nothing was
  std::uint32_t mode = 0;           // as stat(2) has it, with the type; 0 where nothing is left
  std::uint32_t previous_mode = 0;  // as previous_size
  std::string target;               // of a symbolic link
  // What tells this state of what is there from its others: nobody can set ctime. 0 where nothing
  // is left, but for the ctime of an overlay's whiteout.
  std::uint64_t inode = 0;
  std::uint64_t changed_ns = 0;
  bool conflict = false;  // the host has changed it too
};

// A text that another state of the same path does not have: contents, mode or owner of a file or
// link; of a directory its mode, since its times change with what is in it.
std::string VersionOf(const Change& change);

// Some paths of a workspace, with all that is below each; or, made of none, every path.
class PathFilter {
 public:
  PathFilter() = default;

  // Of paths relative to the workspace; "." is all of it. kInvalidValue, naming `field`, for one
  // that is empty, absolute, or has a ".." or a NUL byte.
  static Result<PathFilter> Of(const std::vector<std::string>& paths,
                               std::string_view field = "paths");

  // The same without what is below.
  PathFilter Exactly() const;

  bool Has(std::string_view path) const;

 private:
  bool has_all_ = true;
  bool is_exact_ = false;
  std::set<std::string, std::less<>> paths_;  // normal; "" is the workspace
};

// Whether code of the host's runs by itself what is at a path: one of `names` (".envrc",
// ".git/hooks", normalised) is there, at any depth of it, or above it. Upper and lower case are the
// same: so they are in some file systems. What is no directory is protected above one of them too:
// a link in the place of ".git" leads to hooks elsewhere.
bool IsProtected(std::string_view path, bool is_directory, const std::vector<std::string>& names);

}  // namespace native_runner

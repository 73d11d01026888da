#pragma once

#include <cstdint>
#include <string>

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

}  // namespace native_runner

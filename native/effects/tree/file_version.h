#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace native_runner {

// What tells a state of a file from its others: the inode, its size, and when its content (mtime)
// and anything of it (ctime, which nobody can set) last changed, in nanoseconds. Two changes within
// one tick of the kernel's clock that leave the size are alike before Linux 6.13. A number of an
// inode is soon another file's; the file system's handle, where there is one, is not.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t handle = 0;  // a hash of it; 0: none
  std::uint64_t size = 0;
  std::uint64_t modified = 0;
  std::uint64_t changed = 0;

  friend bool operator==(const FileVersion&, const FileVersion&) = default;

  bool SameFile(const FileVersion& other) const {
    return device == other.device && inode == other.inode && handle == other.handle;
  }
  // Whether the content is the same for all that can be said after a rename, which sets ctime.
  bool SameContent(const FileVersion& other) const {
    return SameFile(other) && size == other.size && modified == other.modified;
  }

  // As JavaScript has it, and back; nullopt for what is no such text.
  std::string Text() const;
  static std::optional<FileVersion> Parse(std::string_view text);
};

}  // namespace native_runner

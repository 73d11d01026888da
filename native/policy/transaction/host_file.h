#pragma once

#include <cstdint>

namespace native_runner {

// What is known of a file of the host's without opening it, and what tells it from what it was
// before or will be: nobody can set `changed_ns` (ctime) or `born_ns`. Plain data; times in
// nanoseconds since 1970.
struct HostFile {
  std::uint32_t mode = 0;  // as stat(2) has it, with the type
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t modified_ns = 0;
  std::uint64_t changed_ns = 0;
  std::uint64_t born_ns = 0;  // 0 where the file system keeps none; an inode's number is used again

  bool is_directory() const { return (mode & 0170000U) == 0040000U; }

  friend bool operator==(const HostFile&, const HostFile&) = default;

  bool IsSameInode(const HostFile& other) const {
    return device == other.device && inode == other.inode && born_ns == other.born_ns;
  }
  // But for ctime, which a rename sets, and which is a directory's for each name in it.
  bool HasSameAttributes(const HostFile& other) const {
    return mode == other.mode && uid == other.uid && gid == other.gid;
  }
  // Whether the content is the same for all that can be said after a rename.
  bool HasSameContent(const HostFile& other) const {
    return IsSameInode(other) && HasSameAttributes(other) && size == other.size &&
           modified_ns == other.modified_ns;
  }
};

}  // namespace native_runner

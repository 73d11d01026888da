#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace native_runner {

// Tells whether names in some directories may have changed since they were looked at: a directory's
// ctime moves with every entry that is made, removed or replaced, and can't be set back
// (inode(7)). Supervisor thread.
class DirectoryStamps {
 public:
  // Call before looking at what `path` leads to: remembers all the directories above it.
  void AddAbove(const std::string& path);
  void Add(const std::string& directory);

  // For a name that is found along directories which were not added.
  void Invalidate() { trusted_ = false; }

  // False as soon as one of them is another one, is gone or came, or has changed; always where the
  // stamps can't tell: a symbolic link among them, or one that had changed so shortly before it
  // was stamped that the clock does not keep then and later apart.
  bool Unchanged() const;

 private:
  struct Stamp {
    bool there = false;
    bool link = false;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Entry {
    std::string directory;
    Stamp stamp;
  };

  static Stamp Take(const std::string& directory);

  std::vector<Entry> entries_;
  bool trusted_ = true;
};

}  // namespace native_runner

#pragma once

#include <set>
#include <string>

#include "tests/supervise/support/temp_directory.h"

namespace native_runner {

// A directory that behaves like a cgroup: while one exists, what mkdir(2) makes in it is born with
// the kernel's files and rmdir(2) takes those along. For that, its source defines mkdir and
// rmdir in place of the C library's. One at a time, one thread.
class FakeCgroups {
 public:
  // `files`: the names that a new group has.
  explicit FakeCgroups(std::set<std::string> files);
  ~FakeCgroups();
  FakeCgroups(const FakeCgroups&) = delete;
  FakeCgroups& operator=(const FakeCgroups&) = delete;

  const std::string& path() const { return root_.path(); }
  // Returns the text that was written to a file of the only group; "none" if there is no such file.
  std::string Value(const std::string& file) const;
  void Set(const std::string& file, const std::string& value) const;
  int count() const { return static_cast<int>(groups_.size()); }
  void set_busy(bool busy) { busy_ = busy; }  // rmdir then fails with EBUSY

 private:
  friend int NoteDirectory(const char* path);
  friend int RemoveDirectory(const char* path);
  bool Contains(const std::string& path) const { return path.starts_with(root_.path() + "/"); }

  TempDirectory root_;
  std::set<std::string> files_;
  std::set<std::string> groups_;  // full paths
  bool busy_ = false;
};

}  // namespace native_runner

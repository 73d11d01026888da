#pragma once

#include <sys/stat.h>

namespace native_runner {

// A directory whose entries are to be moved, open for reading whatever its mode is. Its mode and
// times are put back by Leave(). No heap; nothing is closed by itself.
class EnteredDirectory {
 public:
  // What has this name in `parent` itself. Returns 0, or -errno: -ENOTDIR where it is none, as a
  // link is; -EXDEV where something is mounted on it.
  long Enter(int parent, const char* name);

  // As Enter; made as `model` is, with its mode, group, times and attributes, unless it is there.
  long MakeOrEnter(int parent, const char* name, const EnteredDirectory& model);

  // Puts back what it had when it was entered, or its model had, and closes it.
  void Leave();

  int descriptor() const { return directory_; }

 private:
  long CopyFrom(const EnteredDirectory& model);

  int directory_ = -1;
  struct stat status_ {};
};

}  // namespace native_runner

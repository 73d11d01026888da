#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <climits>
#include <cstdint>

#include "launcher/renames/directory_move.h"

namespace native_runner {

// A place whose directory is open, and its name, as they stand in a process that may change its
// own. The directory is its owner's to close.
struct FoundPlace {
  int directory = -1;
  char name[NAME_MAX + 1] = {};

  Place place() const { return {directory, name}; }
};

// What a process asks for that waits in rename(2), renameat(2) or renameat2(2). Where it says that
// something can't be told, the kernel is left to answer as it does.
class RenameCall {
 public:
  explicit RenameCall(const seccomp_notif& call);

  // Of renameat2(2).
  unsigned flags() const { return flags_; }

  // Looks up the directory that the path leads to, as the kernel would for that process: by its
  // working directory or descriptor, and through links. What is found is the process' own only if
  // it still waits by then. False: it is not there, or has no name of its own (".."), or can't be
  // read.
  bool FindOld(FoundPlace* found) const { return Find(old_, found); }
  bool FindNew(FoundPlace* found) const { return Find(new_, found); }

 private:
  struct Argument {
    int directory = 0;
    std::uint64_t path = 0;
  };
  bool Find(const Argument& argument, FoundPlace* found) const;
  int OpenDirectory(const Argument& argument, const char* path) const;

  pid_t caller_;
  Argument old_;
  Argument new_;
  unsigned flags_ = 0;
};

}  // namespace native_runner

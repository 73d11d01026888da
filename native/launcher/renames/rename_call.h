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
  // it still waits by then. Another result than 0: it is not there, or has no name of its own
  // (".."), or can't be read.
  // -EAGAIN: `lookup` is kCached, and the kernel would have to look at a directory. That is refused
  // as a whole, as whoever copies a file in one holds it for as long as that takes.
  enum class Lookup { kCached, kWhole };
  long FindOld(FoundPlace* found, Lookup lookup) const { return Find(old_, found, lookup); }
  long FindNew(FoundPlace* found, Lookup lookup) const { return Find(new_, found, lookup); }

 private:
  struct Argument {
    int directory = 0;
    std::uint64_t path = 0;
  };
  long Find(const Argument& argument, FoundPlace* found, Lookup lookup) const;
  int OpenDirectory(const Argument& argument, const char* path, Lookup lookup) const;

  pid_t caller_;
  Argument old_;
  Argument new_;
  unsigned flags_ = 0;
};

}  // namespace native_runner

#pragma once

#include <cstddef>

#include "launcher/kernel/text.h"
#include "launcher/order/order.h"
#include "protocol/order.h"

namespace native_runner {

// Opens the directory that a step names as DEVICE:INODE:PATH, without following a link at its end.
// Refuses another directory, as the path may lead elsewhere by now. O_PATH, close-on-exec; -1 with
// a refusal.
int OpenNamed(const char* file, Refusal* refusal);

// Path of an open `descriptor` for calls that only take paths: as short as possible, and without
// characters that need an escape (proc_pid_fd(5)).
using DescriptorPath = FixedText<32>;
DescriptorPath PathOf(int descriptor);

// True if the file system of a directory is mounted noexec.
bool ForbidsPrograms(int directory);

// Collects the directories of one overlay, and mounts it. They stay open until then, and the kernel
// gets descriptor paths, so that the mount table shows no path of theirs.
//
// Mounts with `userxattr`, which a user namespace requires and which gives root's overlays the same
// format on disk; and with `index=off`, which an ordinary user has anyway: otherwise a write to a
// file with several names would also show under the others, although the upper directory has it
// once.
class Overlay {
 public:
  // `file`: as a step names it. False: `refusal` states the reason.
  [[nodiscard]] bool AddLower(const char* file, Refusal* refusal);
  [[nodiscard]] bool SetUpper(const char* file, Refusal* refusal);
  [[nodiscard]] bool SetWork(const char* file, Refusal* refusal);

  // Mounts without devices and set-user-id programs, and without any programs if the directory
  // below has none. Returns the overlay's root (O_PATH, close-on-exec), or -1 with a refusal.
  [[nodiscard]] int MountOn(const char* file, Refusal* refusal);

  // Drops the unused caches that the kernel keeps of the overlay with this root, by a
  // reconfiguration that changes nothing. Returns 0, or -errno.
  static long LookAgain(int root);

 private:
  bool Open(const char* file, int* descriptor, Refusal* refusal);
  bool AddOptions(Refusal* refusal);

  static constexpr int kMostLowers = 128;
  int lowers_[kMostLowers] = {};
  int lower_count_ = 0;
  int upper_ = -1;
  int work_ = -1;
  FixedText<4096> options_;  // mount(2) takes no more than a page
};

// Shows directories of the host copy-on-write (kStepCache to kStepShowCaches): each under an
// overlay at its own path. All upper layers are in one tmpfs, which is mounted over the first
// directory before that directory's overlay is, so that no path leads to it.
class CacheOverlays {
 public:
  // Takes a directory as kStepCache names it. False: `refusal` states the reason.
  [[nodiscard]] bool Add(const char* text, Refusal* refusal);

  // Takes a directory as kStepKept names it. False: `refusal` states the reason.
  [[nodiscard]] bool Keep(const char* text, Refusal* refusal);

  // Mounts all of them, with a tmpfs as kStepShowCaches names it, and puts each overlay's root at
  // its number, to be kept on execve(2). False: `refusal` states the reason.
  [[nodiscard]] bool Show(const char* text, Refusal* refusal);

 private:
  struct Cache {
    int number;          // of the overlay's root, in the end
    int lower;           // the host's directory; O_PATH
    const char* path;    // ends with a newline or with the text
    const char* hidden;  // paths below it, one a line
  };

  struct Kept {
    int directory;  // O_PATH
    const char* path;
  };

  int MountUppers(const char* size, Refusal* refusal) const;
  bool MountOne(const Cache& cache, int uppers, int at, Refusal* refusal) const;
  bool Hide(const Cache& cache, int upper, Refusal* refusal) const;
  bool ShowKept(Refusal* refusal);

  Cache caches_[kMostCaches] = {};
  int count_ = 0;
  Kept kept_[kMostKept] = {};
  int kept_count_ = 0;
};

}  // namespace native_runner

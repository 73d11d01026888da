#pragma once

#include "launcher/text/fixed_text.h"
#include "launcher/text/refusal.h"

namespace native_runner {

// Collects the directories of one overlay, and mounts it. They stay open until then, and the kernel
// is given their descriptors: a mount shows no path of theirs to who sees it.
//
// With `userxattr`, as whoever mounts it in a user namespace has to, and so that an overlay of
// root's has the same format on disk; with `index=off`, which an ordinary user has anyway: what is
// written to a file of several names would else show under the others too, though the directory of
// changes has it once.
class Overlay {
 public:
  // `file`: as a step names it. False: the refusal says why.
  [[nodiscard]] bool AddLower(const char* file, Refusal* refusal);
  [[nodiscard]] bool SetUpper(const char* file, Refusal* refusal);
  [[nodiscard]] bool SetWork(const char* file, Refusal* refusal);

  // Without devices and set-user-id programs, and without programs at all where what is under it
  // has none. Returns the overlay's root (O_PATH, close-on-exec), or -1 with a refusal.
  [[nodiscard]] int MountOn(const char* file, Refusal* refusal);

  // Drops what the kernel keeps of the overlay with this root and nobody uses: a reconfiguration
  // that changes nothing. 0, or -errno.
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

}  // namespace native_runner

#pragma once

#include <cstddef>

#include "launcher/order/order.h"
#include "protocol/order.h"

namespace native_runner {

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

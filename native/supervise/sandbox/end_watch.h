#pragma once

#include <sys/types.h>

#include <cstdint>

namespace native_runner {

// Looks at a launcher that was told to end its tree and has not said yet that it has. A process
// that has touched gigabytes takes seconds to die, and everything takes longer on a busy host: so
// what decides whether a launcher is given up is not time, but what it is seen to do.
class EndWatch {
 public:
  enum class Seen {
    kDying,    // a process of its tree is dying, or it is itself
    kWorking,  // it runs, waits for the kernel, or has done something since it was last looked at
    kSilent,   // it is stopped, or waits for nothing that could come; or it can't be seen
  };

  // `launcher`: its pidfd.
  Seen Look(int launcher);

 private:
  std::uint64_t steps_ = 0;  // CPU time and waits of the launcher, at the last look
};

}  // namespace native_runner

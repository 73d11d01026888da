#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace native_runner {

// What /proc tells of one process (proc_pid_stat(5)).
struct ProcessFacts {
  pid_t parent = 0;
  char state = '?';
  std::uint64_t cpu_ticks = 0;  // of its own, in user mode and in the kernel
  // It has begun to end, or was killed and has not run since: it runs nothing of its own any more.
  // What is left is the kernel's work, which takes as long as it has memory to give back.
  bool is_dying = false;
};

// Nothing for one that is gone or can't be seen.
std::optional<ProcessFacts> LookAtProcess(pid_t process);

// The living and the dead below `root`, as /proc counts them, up to `most`. Reads some files for
// each, or (where the kernel does not tell of children) for each process that there is: meant for
// the rare case.
std::vector<pid_t> DescendantsOf(pid_t root, std::size_t most);

}  // namespace native_runner

#pragma once

#include <cstdint>

namespace native_runner {

// What a session is to be.
struct SessionRule {
  std::uint64_t idle_ms = 0;       // without a command, after which it ends; 0: never
  std::uint64_t max_commands = 0;  // after which it ends; 0: any number
  std::uint64_t tmp_bytes = 0;     // of its private /tmp; 0: no limit
  std::uint64_t clones_of = 0;  // the pool whose template its sandbox may be cloned from; 0: none
  bool keeps_shell = false;     // cwd and variables pass from one shell command to the next
};

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Writes a command's stdin, then closes it. A reader that went away ends the feeding quietly: what
// a command does not read is its own affair. SIGPIPE is blocked on the supervisor thread.
class Feeder {
 public:
  bool Start(uv_loop_t* loop, Descriptor pipe, std::vector<std::uint8_t> bytes);
  void Stop();

  // Stops, and gives all the bytes back, those that were written too.
  std::vector<std::uint8_t> Recall();

 private:
  bool WriteSome();  // false: done, one way or the other

  Poll poll_;
  Descriptor pipe_;
  std::vector<std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

}  // namespace native_runner

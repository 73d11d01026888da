#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "supervise/os/descriptor.h"

namespace native_runner {

// Pipes for splice(2), made when they are needed and kept for the next that needs one: a connection
// has one only while bytes are on their way, so that idle ones cost no descriptors.
class PipePool {
 public:
  static constexpr std::size_t kMostKept = 8;
  static constexpr int kPipeBytes = 1 << 20;

  // nullopt: the host has no descriptors left.
  std::optional<PipeEnds> Take();
  // `pipe` is empty.
  void Give(PipeEnds pipe);

 private:
  std::vector<PipeEnds> kept_;
};

}  // namespace native_runner

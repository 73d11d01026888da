#include "supervise/network/io/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace native_runner {

std::optional<PipeEnds> PipePool::Take() {
  if (!kept_.empty()) {
    PipeEnds pipe = std::move(kept_.back());
    kept_.pop_back();
    return pipe;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  static_cast<void>(fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes));  // may be refused: fewer a turn
  return PipeEnds{Descriptor(ends[0]), Descriptor(ends[1])};
}

void PipePool::Give(PipeEnds pipe) {
  if (kept_.size() < kMostKept) kept_.push_back(std::move(pipe));
}

}  // namespace native_runner

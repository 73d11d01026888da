#include "supervise/streams/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace native_runner {

Output::Progress Output::AfterFailure(ssize_t result) {
  if (result == 0) return Progress::kEnd;
  if (errno == EINTR) return Progress::kMore;
  return errno == EAGAIN ? Progress::kEmpty : Progress::kEnd;
}

void Output::Remember(const std::uint8_t* data, std::size_t size) {
  const std::size_t count = std::min(size, opening_.size() - opening_size_);
  if (count == 0) return;
  std::memcpy(opening_.data() + opening_size_, data, count);
  opening_size_ += count;
}

}  // namespace native_runner

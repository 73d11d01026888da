#include "policy/network/http/head_reader.h"

#include "policy/text/ascii.h"

namespace native_runner {

std::size_t HeadReader::Feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (state_ == HeadState::kNeedsMore && taken < bytes.size())
    Take(bytes[taken++]);
  return taken;
}

void HeadReader::Take(char c) {
  const bool is_behind_cr = head_.ends_with('\r');
  if (is_behind_cr != (c == '\n') || (head_.empty() && !IsAsciiLetter(c))) {
    state_ = HeadState::kMalformed;
    return;
  }
  head_ += c;
  if (c == '\n' && head_.ends_with("\r\n\r\n")) {
    state_ = HeadState::kComplete;
  } else if (head_.size() >= kMostBytes) {
    state_ = HeadState::kTooLong;
  }
}

}  // namespace native_runner

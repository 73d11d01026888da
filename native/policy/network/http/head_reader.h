#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace native_runner {

enum class HeadState {
  kNeedsMore,
  kComplete,
  kMalformed,  // a CR or LF alone, or no method at the beginning
  kTooLong,
};

// Gathers the head of an HTTP/1 request, up to its empty line, from pieces of any size. Lines end
// in CRLF and nothing else: RFC 9112 2.2 lets a server take LF alone, so what servers make of it
// differs, and that is how requests are smuggled. Nor are empty lines before a request skipped.
// Linear in what is fed, bounded by kMostBytes.
class HeadReader {
 public:
  static constexpr std::size_t kMostBytes = 32 * 1024;

  // Takes from the front of `bytes` what is of the head, and says how much; the rest is what comes
  // after it. Nothing more is taken once the state is another than kNeedsMore.
  std::size_t Feed(std::string_view bytes);

  HeadState state() const { return state_; }
  // In kComplete all of it, with the empty line.
  const std::string& head() const { return head_; }

 private:
  void Take(char c);

  HeadState state_ = HeadState::kNeedsMore;
  std::string head_;
};

}  // namespace native_runner

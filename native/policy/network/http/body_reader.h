#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "policy/network/http/request.h"

namespace native_runner {

enum class BodyState { kNeedsMore, kComplete, kMalformed };

// Where the body of a request ends, and with it where the next request begins. It keeps nothing of
// it: what it takes is sent on as it is. Chunks (RFC 9112 7.1) are of a size in at most 16 digits
// and data, with CRLF behind each; extensions and trailers are refused, since next to no client
// sends them and servers disagree about them.
class BodyReader {
 public:
  explicit BodyReader(const HttpRequest& request);

  // Takes from the front of `bytes` what is of the body, and says how much. In kMalformed nothing
  // of what comes next may be sent on, nor another request be read.
  std::size_t Feed(std::string_view bytes);

  BodyState state() const { return state_; }

 private:
  enum class Next {
    kSize,
    kSizeLineFeed,
    kData,
    kDataReturn,
    kDataLineFeed,
    kEndReturn,
    kEndLineFeed
  };

  void Take(char c);
  void TakeSize(char c);
  void Expect(char c, char wanted, Next next);

  BodyState state_ = BodyState::kNeedsMore;
  bool is_chunked_ = false;
  Next next_ = Next::kData;
  std::uint64_t left_ = 0;  // of the body, or of the chunk
  std::size_t digits_ = 0;
};

}  // namespace native_runner

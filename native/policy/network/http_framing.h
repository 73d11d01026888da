#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/network/http_head.h"
#include "policy/network/http_request.h"

namespace native_runner {

enum class BodyState { kNeedsMore, kComplete, kMalformed };

// Finds where the body of a request ends and the next request begins. Keeps none of the body,
// because its bytes are sent on unchanged. Chunks (RFC 9112 7.1) have a size in at most 16 digits
// and data, each followed by CRLF. Refuses extensions and trailers: almost no client sends them,
// and servers disagree about them.
class BodyReader {
 public:
  explicit BodyReader(const HttpRequest& request);

  // Takes the body's bytes off the front of `bytes` and returns their number. After kMalformed, no
  // further byte may be sent on and no further request read.
  std::size_t Feed(std::string_view bytes);

  BodyState state() const { return state_; }

 private:
  enum class Next { kSize, kData, kDataEnd, kBodyEnd };

  std::size_t TakeLine(std::string_view rest);
  std::size_t TakeDigits(std::string_view rest);
  void LineEnded();

  BodyState state_ = BodyState::kNeedsMore;
  bool is_chunked_ = false;
  Next next_ = Next::kData;
  std::uint64_t left_ = 0;    // of the body, or of the chunk
  std::size_t digits_ = 0;    // of the chunk's size that have come
  std::size_t line_end_ = 0;  // characters of the line end that have come
};

enum class ResponseState {
  kNeedsMore,
  kComplete,
  kUntilClose,  // the response ends when the server closes
  kUpgraded,    // another protocol follows, which the client asked for
};

// Finds where the response to a request ends (RFC 9112 6.3), and if another request may follow. The
// server is an allowed one and the response is passed on unchanged. So a response that others may
// read differently, or that is not HTTP/1, is no error but kUntilClose, after which the connection
// is not reused. Informational responses are part of the one that follows them.
class ResponseReader {
 public:
  static constexpr std::size_t kMostHeadBytes = std::size_t{64} << 10U;

  explicit ResponseReader(const HttpRequest& request);

  // Takes the response's bytes off the front of `bytes` and returns their number; in kUntilClose
  // all of them.
  std::size_t Feed(std::string_view bytes);

  ResponseState state() const { return state_; }
  // The final response's status; 0 before it, or if it is not HTTP/1.
  unsigned status() const { return status_; }
  // In kComplete: true if the server takes another request on this connection.
  bool keeps() const { return keeps_; }

 private:
  std::size_t FeedHead(std::string_view bytes);
  void HeadEnded();

  bool is_to_head_;
  bool may_upgrade_;
  ResponseState state_ = ResponseState::kNeedsMore;
  HeadParser head_{HeadParser::Kind::kResponse};
  std::size_t head_size_ = 0;
  std::optional<BodyReader> body_;
  unsigned status_ = 0;
  bool keeps_ = false;
};

}  // namespace native_runner

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/network/http_request.h"

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

enum class ResponseState {
  kNeedsMore,
  kComplete,
  kUntilClose,  // it ends when the server closes
  kUpgraded,    // behind it is another protocol, which the client had asked for
};

// Where the answer to a request ends (RFC 9112 6.3), and with it whether another request may be
// sent. The server is one that is allowed and the answer is handed on as it is; so what is read
// differently by somebody, or is no HTTP/1 at all, is no error but kUntilClose, after which nothing
// of the connection is used again. Informational answers are part of the one that follows them.
class ResponseReader {
 public:
  static constexpr std::size_t kMostHeadBytes = std::size_t{64} << 10U;

  explicit ResponseReader(const HttpRequest& request);

  // Takes from the front of `bytes` what is of the answer, and says how much: in kUntilClose all.
  std::size_t Feed(std::string_view bytes);

  ResponseState state() const { return state_; }
  // Of the final answer; 0 before, and where it is no HTTP/1.
  unsigned status() const { return status_; }
  // In kComplete: the server takes another request on this connection.
  bool keeps() const { return keeps_; }

 private:
  std::size_t FeedHead(std::string_view bytes);
  void ReadHead();

  bool is_to_head_;
  bool may_upgrade_;
  ResponseState state_ = ResponseState::kNeedsMore;
  std::string head_;
  std::optional<BodyReader> body_;
  unsigned status_ = 0;
  bool keeps_ = false;
};

}  // namespace native_runner

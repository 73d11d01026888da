#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "policy/network/http/body_reader.h"
#include "policy/network/http/request.h"

namespace native_runner {

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

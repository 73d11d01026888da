#pragma once

#include <llhttp.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/result.h"

namespace native_runner {

struct HttpField {
  std::string name;   // as written
  std::string value;  // without the blanks around it
};

// Why a request is refused.
enum class HttpFault {
  kRequestLine,
  kVersion,
  kTarget,
  kScheme,
  kHost,
  kField,
  kFraming,
  kConnection,
};

// The most fields that a head may have, of those that are kept.
inline constexpr std::size_t kMostHttpFields = 256;

// Reads the head of one HTTP/1 message by llhttp in its strict mode, in pieces of any size: each
// byte once, and nothing behind the empty line. Refuses what llhttp lets through and recipients may
// read differently: versions other than 1.0 and 1.1, several blanks in a request line. Bounds the
// number of fields, not the size, and checks no more of a target than llhttp does. Copyable.
class HeadParser {
 public:
  enum class Kind {
    kRequest,   // with one of the methods that llhttp knows
    kResponse,  // of whose fields only those about framing and the connection are kept
  };
  enum class State { kNeedsMore, kComplete, kRefused };

  explicit HeadParser(Kind kind);

  // Takes the head's bytes off the front of `bytes` and returns their number. Takes nothing once
  // the state has left kNeedsMore.
  std::size_t Feed(std::string_view bytes);

  State state() const { return state_; }
  HttpFault fault() const { return fault_; }  // in kRefused

  // In kComplete.
  std::string& target() { return target_; }  // of a request, as written
  unsigned minor_version() const { return parser_.http_minor; }
  unsigned status() const { return parser_.status_code; }  // of a response
  std::vector<HttpField>& fields() { return fields_; }

 private:
  static const llhttp_settings_t kSettings;

  static HeadParser* Of(llhttp_t* parser) { return static_cast<HeadParser*>(parser->data); }
  std::uint64_t OffsetOf(const char* at) const {
    return fed_ + static_cast<std::uint64_t>(at - piece_);
  }
  int Refuse(HttpFault fault);
  HttpFault FaultOf(llhttp_errno_t error) const;

  int OnMethod(const char* at, std::size_t size);
  int OnTarget(const char* at, std::size_t size);
  int OnTargetComplete();
  int OnVersion(const char* at);
  int OnVersionComplete();
  int OnFieldName(const char* at, std::size_t size);
  int OnFieldNameComplete();
  int OnFieldValue(const char* at, std::size_t size);
  int OnFieldValueComplete();

  llhttp_t parser_{};
  State state_ = State::kNeedsMore;
  HttpFault fault_ = HttpFault::kRequestLine;
  bool is_refused_by_us_ = false;
  const char* piece_ = nullptr;  // during Feed
  std::uint64_t fed_ = 0;        // bytes before piece_
  std::uint64_t next_part_ = 0;  // where the next part of the request line has to begin
  bool has_version_begun_ = false;
  bool has_version_ = false;
  bool is_within_field_ = false;
  bool keeps_field_ = true;
  std::string target_;
  HttpField field_;  // the one that is being read
  std::vector<HttpField> fields_;
};

// How a request names its target (RFC 9112 3.2).
enum class HttpForm {
  kAuthority,  // CONNECT a.test:443
  kAbsolute,   // GET http://a.test/x, to a proxy
  kOrigin,     // GET /x with Host, to the server itself
  kAsterisk,   // OPTIONS *
};

// The head of a request, read so that it has only one meaning.
struct HttpRequest {
  std::string method;
  HttpForm form = HttpForm::kOrigin;
  NamedHost host = IpAddress();       // of the target, else of Host
  std::optional<std::uint16_t> port;  // as named; 80 if a target in absolute form names none
  std::string path;                   // with its query, in origin form; empty for CONNECT
  unsigned minor_version = 1;
  std::vector<HttpField> fields;
  std::optional<std::uint64_t> content_length;
  bool is_chunked = false;
  bool closes = false;                 // the client sends no other request on this connection
  bool upgrades_to_websocket = false;  // the bytes after the response may be no HTTP any more
};

// Return the HTTP status for a fault, and the fault in a few words.
unsigned HttpFaultStatus(HttpFault fault);
const char* HttpFaultText(HttpFault fault);

enum class HeadState {
  kNeedsMore,
  kComplete,
  kMalformed,
  kTooLong,
};

// Reads the head of an HTTP/1 request, up to its empty line, from pieces of any size. Reads each
// byte once, whatever the pieces, up to kMostBytes of them; a head that will be refused may be so
// before its end. HeadParser reads it, but for the method: llhttp knows only some, and servers
// define others. Does not skip empty lines before a request.
//
// Strict where RFC 9112 is strict, and where servers choose
// differently: exactly one Host (also in HTTP/1.0, except for absolute form and CONNECT), which
// agrees with the target; no folded lines, no blank before a colon, no control characters; either
// one Content-Length or one Transfer-Encoding that is "chunked", not both, none with CONNECT; no
// Connection option that would make the next server drop any of these. CRLF is the only line end:
// RFC 9112 2.2 lets a server accept LF alone, so servers read such a head differently, and
// attackers smuggle requests that way.
class HeadReader {
 public:
  static constexpr std::size_t kMostBytes = 32 * 1024;

  // Takes the head's bytes off the front of `bytes` and returns their number; the rest comes after
  // the head. Takes nothing more once the state has left kNeedsMore.
  std::size_t Feed(std::string_view bytes);

  HeadState state() const { return state_; }
  HttpFault fault() const { return fault_; }   // in kMalformed
  HttpRequest& request() { return request_; }  // in kComplete

 private:
  std::size_t TakeMethod(std::string_view bytes);
  void Complete();
  void Refuse(HttpFault fault);

  HeadState state_ = HeadState::kNeedsMore;
  HttpFault fault_ = HttpFault::kRequestLine;
  HeadParser parser_{HeadParser::Kind::kRequest};
  HttpRequest request_;
  bool has_method_ = false;
  std::size_t size_ = 0;
};

// Reads a head that is `head` and nothing else. Pure.
Result<HttpRequest, HttpFault> ParseHttpRequest(std::string_view head);

// Returns the value of the first field with this name (in any case); nullptr if there is no such
// field.
const std::string* FindField(const HttpRequest& request, std::string_view name);

// True if a list field (RFC 9110 5.6.1) contains `token`, in any case, in any of its occurrences.
bool ListHas(const HttpRequest& request, std::string_view name, std::string_view token);

// Returns the head sent to the server. Written anew from the parsed request, so that the server
// can't read another request than the one that was decided about. In origin form, with one Host,
// the length as it was understood, and without the fields between client and proxy (RFC 9110 7.6.1:
// Connection and the fields it names, Proxy-*, Keep-Alive, TE, Upgrade). Keeps an upgrade to
// WebSocket; drops one to HTTP/2 (h2c), since such a connection can't be checked. With `closes` the
// server is asked to close after its response. Not for CONNECT. Pure.
std::string ForwardedHead(const HttpRequest& request, bool closes);

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

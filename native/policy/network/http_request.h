#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/network/http_head.h"
#include "policy/result.h"

namespace native_runner {

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

}  // namespace native_runner

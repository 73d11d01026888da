#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/result.h"

namespace native_runner {

// How a request names its target (RFC 9112 3.2).
enum class HttpForm {
  kAuthority,  // CONNECT a.test:443
  kAbsolute,   // GET http://a.test/x, to a proxy
  kOrigin,     // GET /x with Host, to the server itself
  kAsterisk,   // OPTIONS *
};

struct HttpField {
  std::string name;   // as written
  std::string value;  // without the blanks around it
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

// Return the HTTP status for a fault, and the fault in a few words.
unsigned HttpFaultStatus(HttpFault fault);
const char* HttpFaultText(HttpFault fault);

// The most fields that a request may have.
inline constexpr std::size_t kMostHttpFields = 256;

// Parses a head that HeadReader gathered. Strict where RFC 9112 is strict, and where servers choose
// differently: exactly one Host (also in HTTP/1.0, except for absolute form and CONNECT), which
// agrees with the target; no folded lines, no blank before a colon, no control characters; either
// one Content-Length or one Transfer-Encoding that is "chunked", not both, none with CONNECT; no
// Connection option that would make the next server drop any of these. Pure.
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

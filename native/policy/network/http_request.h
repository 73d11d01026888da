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

// How a request names what it is for (RFC 9112 3.2).
enum class HttpForm {
  kAuthority,  // CONNECT a.test:443
  kAbsolute,   // GET http://a.test/x, to a proxy
  kOrigin,     // GET /x with Host, to the server itself
  kAsterisk,   // OPTIONS *
};

struct HttpField {
  std::string name;   // as it was written
  std::string value;  // without the blanks around it
};

// The head of a request, read so that it has one meaning only.
struct HttpRequest {
  std::string method;
  HttpForm form = HttpForm::kOrigin;
  NamedHost host = IpAddress();       // of the target, else of Host
  std::optional<std::uint16_t> port;  // as named; 80 where a target in absolute form names none
  std::string path;                   // with its query, in origin form; empty for CONNECT
  unsigned minor_version = 1;
  std::vector<HttpField> fields;
  std::optional<std::uint64_t> content_length;
  bool is_chunked = false;
  bool closes = false;                 // the client sends no other request on this connection
  bool upgrades_to_websocket = false;  // what follows the answer may be no HTTP any more
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

// The status that says so, and what is wrong in a few words.
unsigned HttpFaultStatus(HttpFault fault);
const char* HttpFaultText(HttpFault fault);

// How many fields a request has at most.
inline constexpr std::size_t kMostHttpFields = 256;

// `head` is what HeadReader gathered. Strict where RFC 9112 is, and where it leaves a choice that
// servers make differently: exactly one Host (also in HTTP/1.0, but for absolute form and CONNECT),
// which agrees with the target; no folded lines, no blank before a colon, no control characters;
// either one Content-Length or one Transfer-Encoding that is "chunked", not both, none with
// CONNECT; no Connection option that would have the next server drop any of these. Pure.
Result<HttpRequest, HttpFault> ParseHttpRequest(std::string_view head);

// The value of the first field of that name (in any case); nullptr for none.
const std::string* FindField(const HttpRequest& request, std::string_view name);

// Whether a field that is a list (RFC 9110 5.6.1) has `token`, in any case, wherever it is given.
bool ListHas(const HttpRequest& request, std::string_view name, std::string_view token);

// The head that the server gets: written anew from what was read, so that the server can't read
// another request than the one that was decided about. In origin form, with one Host, the length as
// it was understood, and without what is between client and proxy only (RFC 9110 7.6.1: Connection
// and what it names, Proxy-*, Keep-Alive, TE, Upgrade). An upgrade to WebSocket stays; one to
// HTTP/2 (h2c) is left out, since what is in such a connection can't be checked. With `closes` the
// server is asked to close after its answer. Not for CONNECT. Pure.
std::string ForwardedHead(const HttpRequest& request, bool closes);

}  // namespace native_runner

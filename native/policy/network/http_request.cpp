#include "policy/network/http_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::string_view kHttpScheme = "http://";

bool IsTargetCharacter(char c) {
  return c > ' ' && c < 0x7f && c != '#';
}

// A host with or without a port, as in Host; IPv6 in brackets. Parsing returns nullopt for anything
// else, and for a colon without a port.
struct Authority {
  NamedHost host;
  std::optional<std::uint16_t> port;
};
std::optional<Authority> ParseAuthority(std::string_view text) {
  const auto parts = SplitHostPort(text);
  if (!parts) return std::nullopt;
  std::optional<std::uint16_t> port;
  if (parts->port) {
    port = ParsePort(*parts->port);
    if (!port) return std::nullopt;
  }
  auto host = ParseHost(parts->host);
  if (!host) return std::nullopt;
  return Authority{.host = std::move(host.value()), .port = port};
}

std::optional<HttpFault> ReadAuthorityForm(std::string_view target, HttpRequest* request) {
  auto authority = ParseAuthority(target);
  if (!authority || !authority->port) return HttpFault::kTarget;
  request->form = HttpForm::kAuthority;
  request->host = std::move(authority->host);
  request->port = authority->port;
  return std::nullopt;
}

// Returns the path and query. RFC 9112 3.2.4: OPTIONS without them is about the whole server.
std::string PathOf(std::string_view rest, std::string_view method) {
  if (rest.empty()) return method == "OPTIONS" ? "*" : "/";
  std::string path(rest);
  if (path.front() == '?') path.insert(path.begin(), '/');
  return path;
}

std::optional<HttpFault> ReadAbsoluteForm(std::string_view target, HttpRequest* request) {
  if (!EqualIgnoringCase(target.substr(0, kHttpScheme.size()), kHttpScheme)) {
    const bool has_scheme = target.find("://") != std::string_view::npos;
    return has_scheme ? HttpFault::kScheme : HttpFault::kTarget;
  }
  target.remove_prefix(kHttpScheme.size());
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  auto authority = ParseAuthority(target.substr(0, end));
  if (!authority) return HttpFault::kTarget;
  request->form = HttpForm::kAbsolute;
  request->host = std::move(authority->host);
  request->port = authority->port.value_or(kHttpPort);
  request->path = PathOf(target.substr(end), request->method);
  return std::nullopt;
}

// Sets form, host, port and path by the target of the request line; only form and path for the
// forms that name no host. Refuses user information, fragments and schemes other than http: a
// client that wants TLS asks for a tunnel by CONNECT. Pure.
std::optional<HttpFault> ReadTarget(std::string_view target, HttpRequest* request) {
  if (target.empty() || !std::all_of(target.begin(), target.end(), IsTargetCharacter)) {
    return HttpFault::kTarget;
  }
  if (request->method == "CONNECT") return ReadAuthorityForm(target, request);
  if (target == "*" || target.front() == '/') {
    const bool is_asterisk = target == "*";
    if (is_asterisk && request->method != "OPTIONS") return HttpFault::kTarget;
    request->form = is_asterisk ? HttpForm::kAsterisk : HttpForm::kOrigin;
    request->path = target;
    return std::nullopt;
  }
  return ReadAbsoluteForm(target, request);
}

constexpr std::size_t kMostMethodBytes = 32;
constexpr std::size_t kMostLengthDigits = 18;  // fits into 63 bits
constexpr std::size_t kMostConnectionOptions = 64;

// Token characters (RFC 9110 5.6.2).
bool IsTokenCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return IsAsciiLetter(c) || IsAsciiDigit(c) || kOthers.find(c) != std::string_view::npos;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::size_t CountFields(const HttpRequest& request, std::string_view name) {
  return static_cast<std::size_t>(std::count_if(
      request.fields.begin(), request.fields.end(),
      [name](const HttpField& field) { return EqualIgnoringCase(field.name, name); }));
}

// Takes the host from the target or from Host; if both name it, they must agree.
std::optional<HttpFault> ReadHost(HttpRequest* request) {
  const bool is_named =
      request->form == HttpForm::kAbsolute || request->form == HttpForm::kAuthority;
  const std::size_t count = CountFields(*request, "Host");
  if (count > 1) return HttpFault::kHost;
  if (count == 0) {
    // RFC 9112 3.2: HTTP/1.1 always has Host. Some clients of proxies ask for tunnels without it.
    const bool may_lack_it =
        request->form == HttpForm::kAuthority || (is_named && request->minor_version == 0);
    return may_lack_it ? std::nullopt : std::optional(HttpFault::kHost);
  }
  auto authority = ParseAuthority(*FindField(*request, "Host"));
  if (!authority) return HttpFault::kHost;
  if (!is_named) {
    request->host = std::move(authority->host);
    request->port = authority->port;
    return std::nullopt;
  }
  const bool is_absolute = request->form == HttpForm::kAbsolute;
  const auto port = authority->port ? authority->port
                    : is_absolute   ? std::optional<std::uint16_t>(80)
                                    : request->port;
  const bool agrees = authority->host == request->host && port == request->port;
  return agrees ? std::nullopt : std::optional(HttpFault::kHost);
}

bool IsLength(std::string_view digits) {
  return !digits.empty() && digits.size() <= kMostLengthDigits &&
         std::all_of(digits.begin(), digits.end(), IsAsciiDigit);
}

std::optional<HttpFault> ReadFraming(HttpRequest* request) {
  const std::size_t lengths = CountFields(*request, "Content-Length");
  const std::size_t encodings = CountFields(*request, "Transfer-Encoding");
  if (lengths + encodings == 0) return std::nullopt;
  if (lengths + encodings > 1 || request->form == HttpForm::kAuthority) return HttpFault::kFraming;
  if (encodings == 1) {
    request->is_chunked = true;
    const bool is_chunked = EqualIgnoringCase(*FindField(*request, "Transfer-Encoding"), "chunked");
    return is_chunked && request->minor_version == 1 ? std::nullopt
                                                     : std::optional(HttpFault::kFraming);
  }
  const std::string& digits = *FindField(*request, "Content-Length");
  if (!IsLength(digits)) return HttpFault::kFraming;
  std::uint64_t length = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), length);
  request->content_length = length;
  return std::nullopt;
}

// Each field is compared with each of these before it is sent on.
bool HasFewConnectionOptions(const HttpRequest& request) {
  std::size_t count = 0;
  for (const HttpField& field : request.fields) {
    if (!EqualIgnoringCase(field.name, "Connection")) continue;
    count += 1 + static_cast<std::size_t>(std::count(field.value.begin(), field.value.end(), ','));
  }
  return count <= kMostConnectionOptions;
}

std::optional<HttpFault> ReadConnection(HttpRequest* request) {
  if (!HasFewConnectionOptions(*request)) return HttpFault::kField;
  for (const char* name : {"Host", "Content-Length", "Transfer-Encoding"}) {
    if (ListHas(*request, "Connection", name)) return HttpFault::kConnection;
  }
  request->closes = ListHas(*request, "Connection", "close") ||
                    (request->minor_version == 0 && !ListHas(*request, "Connection", "keep-alive"));
  const std::string* upgrade = FindField(*request, "Upgrade");
  request->upgrades_to_websocket =
      request->minor_version == 1 && upgrade != nullptr && CountFields(*request, "Upgrade") == 1 &&
      EqualIgnoringCase(*upgrade, "websocket") && ListHas(*request, "Connection", "upgrade");
  return std::nullopt;
}

}  // namespace

unsigned HttpFaultStatus(HttpFault fault) {
  if (fault == HttpFault::kVersion) return 505;
  return fault == HttpFault::kScheme ? 501 : 400;
}

const char* HttpFaultText(HttpFault fault) {
  switch (fault) {
    case HttpFault::kRequestLine:
      return "the request line is none";
    case HttpFault::kVersion:
      return "the version is neither HTTP/1.1 nor HTTP/1.0";
    case HttpFault::kTarget:
      return "the target is not one";
    case HttpFault::kScheme:
      return "the scheme is not http; a tunnel is asked for by CONNECT";
    case HttpFault::kHost:
      return "Host is missing, given twice, no host, or not that of the target";
    case HttpFault::kField:
      return "a field is malformed, or there are too many";
    case HttpFault::kFraming:
      return "where the request ends is not said in one way";
    case HttpFault::kConnection:
      return "Connection names a field that has to stay";
  }
  return "";
}

std::size_t HeadReader::Feed(std::string_view bytes) {
  if (state_ != HeadState::kNeedsMore || bytes.empty()) return 0;
  bytes = bytes.substr(0, kMostBytes - size_);
  std::size_t taken = has_method_ ? 0 : TakeMethod(bytes);
  if (has_method_) taken += parser_.Feed(bytes.substr(taken));
  size_ += taken;
  if (parser_.state() == HeadParser::State::kComplete) {
    Complete();
  } else if (parser_.state() == HeadParser::State::kRefused) {
    Refuse(parser_.fault());
  } else if (state_ == HeadState::kNeedsMore && size_ >= kMostBytes) {
    state_ = HeadState::kTooLong;
  }
  return taken;
}

// Has the parser read another method in place of this one: CONNECT has targets of its own, and of
// the others PUT is one that llhttp has in HTTP alone.
std::size_t HeadReader::TakeMethod(std::string_view bytes) {
  std::string& method = request_.method;
  const std::size_t end = std::min(bytes.find(' '), bytes.size());
  const std::string_view part = bytes.substr(0, end);
  const bool begins = !method.empty() || IsAsciiLetter(bytes.front());
  if (!begins || part.size() > kMostMethodBytes - method.size() ||
      !std::all_of(part.begin(), part.end(), IsTokenCharacter)) {
    Refuse(HttpFault::kRequestLine);
    return 0;
  }
  method += part;
  if (end == bytes.size()) return end;
  has_method_ = true;
  parser_.Feed(method == "CONNECT" ? "CONNECT " : "PUT ");
  return end + 1;
}

void HeadReader::Complete() {
  request_.minor_version = parser_.minor_version();
  request_.fields = std::move(parser_.fields());
  auto fault = ReadTarget(parser_.target(), &request_);
  if (!fault) fault = ReadHost(&request_);
  if (!fault) fault = ReadFraming(&request_);
  if (!fault) fault = ReadConnection(&request_);
  if (fault) return Refuse(*fault);
  state_ = HeadState::kComplete;
}

void HeadReader::Refuse(HttpFault fault) {
  state_ = HeadState::kMalformed;
  fault_ = fault;
}

Result<HttpRequest, HttpFault> ParseHttpRequest(std::string_view head) {
  HeadReader reader;
  const std::size_t taken = reader.Feed(head);
  if (reader.state() == HeadState::kMalformed) return reader.fault();
  if (reader.state() != HeadState::kComplete || taken < head.size()) return HttpFault::kField;
  return std::move(reader.request());
}

const std::string* FindField(const HttpRequest& request, std::string_view name) {
  for (const HttpField& field : request.fields) {
    if (EqualIgnoringCase(field.name, name)) return &field.value;
  }
  return nullptr;
}

bool ListHas(const HttpRequest& request, std::string_view name, std::string_view token) {
  for (const HttpField& field : request.fields) {
    if (!EqualIgnoringCase(field.name, name)) continue;
    std::string_view rest = field.value;
    while (true) {
      const std::size_t comma = rest.find(',');
      if (EqualIgnoringCase(Trimmed(rest.substr(0, comma)), token)) return true;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

namespace {

constexpr std::array<std::string_view, 9> kNotForwarded = {
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive",
    "TE",   "Upgrade",        "HTTP2-Settings",    "Trailer"};

bool IsForwarded(const HttpRequest& request, const HttpField& field) {
  const auto is_it = [&field](std::string_view name) {
    return EqualIgnoringCase(field.name, name);
  };
  if (std::any_of(kNotForwarded.begin(), kNotForwarded.end(), is_it)) return false;
  if (AsciiLowered(field.name).starts_with("proxy-")) return false;
  return !ListHas(request, "Connection", field.name);
}

void AddField(std::string* head, std::string_view name, std::string_view value) {
  *head += name;
  *head += ": ";
  *head += value;
  *head += "\r\n";
}

std::string HostValue(const HttpRequest& request) {
  const IpAddress* address = std::get_if<IpAddress>(&request.host);
  const bool has_brackets = address != nullptr && !address->is_v4();
  const std::string host = HostText(request.host);
  const std::string text = has_brackets ? "[" + host + "]" : host;
  const bool is_default = request.form == HttpForm::kAbsolute && request.port == 80;
  return request.port && !is_default ? text + ":" + std::to_string(*request.port) : text;
}

}  // namespace

std::string ForwardedHead(const HttpRequest& request, bool closes) {
  std::string head = request.method + " " + request.path + " HTTP/1." +
                     std::to_string(request.minor_version) + "\r\n";
  AddField(&head, "Host", HostValue(request));
  for (const HttpField& field : request.fields) {
    if (IsForwarded(request, field)) AddField(&head, field.name, field.value);
  }
  if (request.content_length) {
    AddField(&head, "Content-Length", std::to_string(*request.content_length));
  }
  if (request.is_chunked) AddField(&head, "Transfer-Encoding", "chunked");
  if (request.upgrades_to_websocket) {
    AddField(&head, "Upgrade", "websocket");
    AddField(&head, "Connection", "Upgrade");
  } else if (closes) {
    AddField(&head, "Connection", "close");
  } else if (request.minor_version == 0) {
    AddField(&head, "Connection", "keep-alive");
  }
  return head + "\r\n";
}

}  // namespace native_runner

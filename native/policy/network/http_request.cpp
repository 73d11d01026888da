#include "policy/network/http_request.h"

#include <algorithm>
#include <array>
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

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMostMethodBytes = 32;
constexpr std::size_t kMostLengthDigits = 18;  // fits into 63 bits

// Token characters (RFC 9110 5.6.2).
bool IsTokenCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return IsAsciiLetter(c) || IsAsciiDigit(c) || kOthers.find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

bool IsValueCharacter(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Returns a line without its end; nullopt if no line end follows.
std::optional<std::string_view> TakeLine(std::string_view* rest) {
  const std::size_t end = rest->find(kLineEnd);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end + kLineEnd.size());
  return line;
}

std::optional<HttpFault> ReadRequestLine(std::string_view line, HttpRequest* request) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return HttpFault::kRequestLine;
  request->method = line.substr(0, first);
  if (!IsToken(request->method) || request->method.size() > kMostMethodBytes) {
    return HttpFault::kRequestLine;
  }
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return HttpFault::kVersion;
  request->minor_version = version.back() == '1' ? 1 : 0;
  return ReadTarget(line.substr(first + 1, last - first - 1), request);
}

std::optional<HttpFault> ReadFields(std::string_view rest, HttpRequest* request) {
  while (const auto line = TakeLine(&rest)) {
    if (line->empty()) return rest.empty() ? std::nullopt : std::optional(HttpFault::kField);
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos) return HttpFault::kField;
    const std::string_view name = line->substr(0, colon);
    const std::string_view value = Trimmed(line->substr(colon + 1));
    if (!IsToken(name) || !std::all_of(value.begin(), value.end(), IsValueCharacter)) {
      return HttpFault::kField;
    }
    if (request->fields.size() == kMostHttpFields) return HttpFault::kField;
    request->fields.push_back({.name = std::string(name), .value = std::string(value)});
  }
  return HttpFault::kField;
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
  if (digits.empty() || digits.size() > kMostLengthDigits ||
      !std::all_of(digits.begin(), digits.end(), IsAsciiDigit)) {
    return HttpFault::kFraming;
  }
  std::uint64_t length = 0;
  for (const char c : digits)
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  request->content_length = length;
  return std::nullopt;
}

std::optional<HttpFault> ReadConnection(HttpRequest* request) {
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

Result<HttpRequest, HttpFault> ParseHttpRequest(std::string_view head) {
  HttpRequest request;
  const auto line = TakeLine(&head);
  if (!line) return HttpFault::kRequestLine;
  auto fault = ReadRequestLine(*line, &request);
  if (!fault) fault = ReadFields(head, &request);
  if (!fault) fault = ReadHost(&request);
  if (!fault) fault = ReadFraming(&request);
  if (!fault) fault = ReadConnection(&request);
  if (fault) return *fault;
  return request;
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

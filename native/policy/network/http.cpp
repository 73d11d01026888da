#include "policy/network/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::string_view kBeforeVersion = " HTTP/";
constexpr std::array<std::string_view, 3> kResponseFields = {"Content-Length", "Transfer-Encoding",
                                                             "Connection"};

}  // namespace

// llhttp's names in ours: what it calls back is a member function of the parser.
const llhttp_settings_t HeadParser::kSettings = [] {
  llhttp_settings_t settings{};
  settings.on_method = [](llhttp_t* parser, const char* at, std::size_t size) {
    return Of(parser)->OnMethod(at, size);
  };
  settings.on_url = [](llhttp_t* parser, const char* at, std::size_t size) {
    return Of(parser)->OnTarget(at, size);
  };
  settings.on_url_complete = [](llhttp_t* parser) { return Of(parser)->OnTargetComplete(); };
  settings.on_version = [](llhttp_t* parser, const char* at, std::size_t) {
    return Of(parser)->OnVersion(at);
  };
  settings.on_version_complete = [](llhttp_t* parser) { return Of(parser)->OnVersionComplete(); };
  settings.on_header_field = [](llhttp_t* parser, const char* at, std::size_t size) {
    return Of(parser)->OnFieldName(at, size);
  };
  settings.on_header_field_complete = [](llhttp_t* parser) {
    return Of(parser)->OnFieldNameComplete();
  };
  settings.on_header_value = [](llhttp_t* parser, const char* at, std::size_t size) {
    return Of(parser)->OnFieldValue(at, size);
  };
  settings.on_header_value_complete = [](llhttp_t* parser) {
    return Of(parser)->OnFieldValueComplete();
  };
  settings.on_headers_complete = [](llhttp_t*) { return static_cast<int>(HPE_PAUSED); };
  return settings;
}();

HeadParser::HeadParser(Kind kind) {
  llhttp_init(&parser_, kind == Kind::kRequest ? HTTP_REQUEST : HTTP_RESPONSE, &kSettings);
}

std::size_t HeadParser::Feed(std::string_view bytes) {
  if (state_ != State::kNeedsMore || bytes.empty()) return 0;
  parser_.data = this;
  piece_ = bytes.data();
  const llhttp_errno_t error = llhttp_execute(&parser_, bytes.data(), bytes.size());
  std::size_t taken = bytes.size();
  if (error != HPE_OK) {
    taken = std::min(taken, static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - piece_));
    state_ = error == HPE_PAUSED ? State::kComplete : State::kRefused;
    if (state_ == State::kRefused && !is_refused_by_us_) fault_ = FaultOf(error);
  }
  fed_ += taken;
  return taken;
}

int HeadParser::Refuse(HttpFault fault) {
  is_refused_by_us_ = true;
  fault_ = fault;
  return -1;
}

HttpFault HeadParser::FaultOf(llhttp_errno_t error) const {
  switch (error) {
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_TRANSFER_ENCODING:
      return HttpFault::kFraming;
    case HPE_INVALID_URL:
      return HttpFault::kTarget;
    case HPE_INVALID_VERSION:
      return has_version_ ? HttpFault::kRequestLine : HttpFault::kVersion;
    default:
      return has_version_ ? HttpFault::kField : HttpFault::kRequestLine;
  }
}

int HeadParser::OnMethod(const char* at, std::size_t size) {
  next_part_ = OffsetOf(at) + size + 1;
  return 0;
}

// llhttp skips any number of blanks between the parts of a request line.
int HeadParser::OnTarget(const char* at, std::size_t size) {
  if (target_.empty() && OffsetOf(at) != next_part_) return Refuse(HttpFault::kTarget);
  target_.append(at, size);
  next_part_ = OffsetOf(at) + size + kBeforeVersion.size();
  return 0;
}

// A request of HTTP/0.9 ends with its target.
int HeadParser::OnTargetComplete() {
  return parser_.http_minor == 9 ? Refuse(HttpFault::kRequestLine) : 0;
}

int HeadParser::OnVersion(const char* at) {
  const bool is_first = !has_version_begun_;
  has_version_begun_ = true;
  const bool is_request = parser_.type == HTTP_REQUEST;
  return is_request && is_first && OffsetOf(at) != next_part_ ? Refuse(HttpFault::kTarget) : 0;
}

int HeadParser::OnVersionComplete() {
  has_version_ = true;
  return parser_.http_major == 1 ? 0 : Refuse(HttpFault::kVersion);
}

int HeadParser::OnFieldName(const char* at, std::size_t size) {
  if (!is_within_field_) {
    if (fields_.size() == kMostHttpFields) return Refuse(HttpFault::kField);
    is_within_field_ = true;
    field_.name.clear();
    field_.value.clear();
  }
  field_.name.append(at, size);
  return 0;
}

int HeadParser::OnFieldNameComplete() {
  keeps_field_ =
      parser_.type == HTTP_REQUEST ||
      std::any_of(kResponseFields.begin(), kResponseFields.end(),
                  [this](std::string_view name) { return EqualIgnoringCase(name, field_.name); });
  return 0;
}

int HeadParser::OnFieldValue(const char* at, std::size_t size) {
  if (keeps_field_) field_.value.append(at, size);
  return 0;
}

// llhttp leaves out the blanks before a value, not those behind it.
int HeadParser::OnFieldValueComplete() {
  is_within_field_ = false;
  if (!keeps_field_) return 0;
  field_.value.resize(field_.value.find_last_not_of(" \t") + 1);
  fields_.push_back(std::move(field_));
  return 0;
}

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

namespace {

constexpr std::size_t kMostSizeDigits = 16;
constexpr std::uint64_t kMostChunkBytes = std::uint64_t{1} << 62;
constexpr std::string_view kLineEnd = "\r\n";

}  // namespace

BodyReader::BodyReader(const HttpRequest& request)
    : is_chunked_(request.is_chunked),
      next_(request.is_chunked ? Next::kSize : Next::kData),
      left_(request.content_length.value_or(0)) {
  if (!is_chunked_ && left_ == 0) state_ = BodyState::kComplete;
}

std::size_t BodyReader::Feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (state_ == BodyState::kNeedsMore && taken < bytes.size()) {
    if (next_ != Next::kData) {
      taken += TakeLine(bytes.substr(taken));
      continue;
    }
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>(left_, static_cast<std::uint64_t>(bytes.size() - taken)));
    taken += size;
    left_ -= size;
    if (left_ > 0) continue;
    if (is_chunked_) {
      next_ = Next::kDataEnd;
    } else {
      state_ = BodyState::kComplete;
    }
  }
  return taken;
}

// Takes what belongs to a line between the data: a chunk's size, or nothing, and the line's end.
std::size_t BodyReader::TakeLine(std::string_view rest) {
  std::size_t taken = 0;
  if (next_ == Next::kSize && line_end_ == 0) {
    taken = TakeDigits(rest.substr(0, kMostSizeDigits - digits_));
  }
  const std::string_view wanted = kLineEnd.substr(line_end_);
  const std::string_view came = rest.substr(taken, wanted.size());
  const auto [same, _] = std::mismatch(came.begin(), came.end(), wanted.begin());
  const auto count = static_cast<std::size_t>(same - came.begin());
  if (count > 0 && next_ == Next::kSize && digits_ == 0) {
    state_ = BodyState::kMalformed;  // a line without a size
    return 0;
  }
  if (count < came.size()) {
    state_ = BodyState::kMalformed;
    return taken + count;
  }
  line_end_ += count;
  if (line_end_ == kLineEnd.size()) LineEnded();
  return taken + count;
}

std::size_t BodyReader::TakeDigits(std::string_view rest) {
  std::uint64_t value = 0;
  const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), value, 16).ptr;
  const auto count = static_cast<std::size_t>(end - rest.data());
  left_ = digits_ == 0 ? value : left_ << (4 * count) | value;
  digits_ += count;
  return count;
}

void BodyReader::LineEnded() {
  line_end_ = 0;
  switch (next_) {
    case Next::kSize:
      digits_ = 0;
      next_ = left_ > 0 ? Next::kData : Next::kBodyEnd;
      if (left_ > kMostChunkBytes) state_ = BodyState::kMalformed;
      return;
    case Next::kDataEnd:
      next_ = Next::kSize;
      return;
    case Next::kBodyEnd:
      state_ = BodyState::kComplete;
      return;
    case Next::kData:
      return;
  }
}

namespace {

constexpr char kFirstOfHead = 'H';
constexpr unsigned kSwitchingProtocols = 101;
constexpr unsigned kFirstFinal = 200;
constexpr unsigned kNoContent = 204;
constexpr unsigned kNotModified = 304;
constexpr std::size_t kMostDigits = 18;

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), IsAsciiDigit);
}

// Returns a response's framing, as a request with this framing; nullopt if it is ambiguous.
std::optional<HttpRequest> FramingOf(std::vector<HttpField> fields) {
  HttpRequest framing;
  for (const auto& [name, value] : fields) {
    const bool is_length = EqualIgnoringCase(name, "Content-Length");
    const bool is_encoding = EqualIgnoringCase(name, "Transfer-Encoding");
    if (!is_length && !is_encoding) continue;
    if (framing.content_length || framing.is_chunked) return std::nullopt;
    if (is_length) {
      if (!IsNumber(value)) return std::nullopt;
      std::from_chars(value.data(), value.data() + value.size(), framing.content_length.emplace());
    } else if (!EqualIgnoringCase(value, "chunked")) {
      return std::nullopt;
    }
    framing.is_chunked = is_encoding;
  }
  framing.fields = std::move(fields);
  return framing;
}

}  // namespace

ResponseReader::ResponseReader(const HttpRequest& request)
    : is_to_head_(request.method == "HEAD"), may_upgrade_(request.upgrades_to_websocket) {}

std::size_t ResponseReader::Feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (state_ == ResponseState::kNeedsMore && taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    if (!body_) {
      taken += FeedHead(rest);
      continue;
    }
    taken += body_->Feed(rest);
    if (body_->state() == BodyState::kComplete) state_ = ResponseState::kComplete;
    if (body_->state() == BodyState::kMalformed) state_ = ResponseState::kUntilClose;
  }
  return state_ == ResponseState::kUntilClose ? bytes.size() : taken;
}

std::size_t ResponseReader::FeedHead(std::string_view bytes) {
  if (head_size_ == 0 && bytes.front() != kFirstOfHead) {  // llhttp skips empty lines
    state_ = ResponseState::kUntilClose;
    return 0;
  }
  const std::size_t taken = head_.Feed(bytes.substr(0, kMostHeadBytes - head_size_));
  head_size_ += taken;
  if (head_.state() == HeadParser::State::kComplete) {
    HeadEnded();
    head_ = HeadParser(HeadParser::Kind::kResponse);
    head_size_ = 0;
  } else if (head_.state() == HeadParser::State::kRefused || head_size_ >= kMostHeadBytes) {
    state_ = ResponseState::kUntilClose;
  }
  return taken;
}

void ResponseReader::HeadEnded() {
  const unsigned status = head_.status();
  const auto framing = FramingOf(std::move(head_.fields()));
  if (!framing) {
    state_ = ResponseState::kUntilClose;
    return;
  }
  if (status < kFirstFinal) {
    if (status != kSwitchingProtocols) return;  // the next head belongs to the same response
    status_ = status;
    state_ = may_upgrade_ ? ResponseState::kUpgraded : ResponseState::kUntilClose;
    return;
  }
  status_ = status;
  keeps_ = head_.minor_version() == 1 ? !ListHas(*framing, "Connection", "close")
                                      : ListHas(*framing, "Connection", "keep-alive");
  if (is_to_head_ || status == kNoContent || status == kNotModified) {
    state_ = ResponseState::kComplete;
    return;
  }
  if (!framing->is_chunked && !framing->content_length) {
    state_ = ResponseState::kUntilClose;
    return;
  }
  body_.emplace(*framing);
  if (body_->state() == BodyState::kComplete) state_ = ResponseState::kComplete;
}

}  // namespace native_runner

#include "policy/network/http_head.h"

#include <algorithm>
#include <array>
#include <utility>

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

}  // namespace native_runner

#include "policy/network/http_framing.h"

#include <algorithm>

#include "policy/text/text.h"

namespace native_runner {

std::size_t HeadReader::Feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (state_ == HeadState::kNeedsMore && taken < bytes.size())
    Take(bytes[taken++]);
  return taken;
}

void HeadReader::Take(char c) {
  const bool is_behind_cr = head_.ends_with('\r');
  if (is_behind_cr != (c == '\n') || (head_.empty() && !IsAsciiLetter(c))) {
    state_ = HeadState::kMalformed;
    return;
  }
  head_ += c;
  if (c == '\n' && head_.ends_with("\r\n\r\n")) {
    state_ = HeadState::kComplete;
  } else if (head_.size() >= kMostBytes) {
    state_ = HeadState::kTooLong;
  }
}

namespace {

constexpr std::size_t kMostSizeDigits = 16;
constexpr std::uint64_t kMostChunkBytes = std::uint64_t{1} << 62;

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
      Take(bytes[taken]);
      if (state_ == BodyState::kMalformed) break;
      ++taken;
      continue;
    }
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>(left_, static_cast<std::uint64_t>(bytes.size() - taken)));
    taken += size;
    left_ -= size;
    if (left_ > 0) continue;
    if (is_chunked_) {
      next_ = Next::kDataReturn;
    } else {
      state_ = BodyState::kComplete;
    }
  }
  return taken;
}

void BodyReader::Take(char c) {
  switch (next_) {
    case Next::kSize:
      return TakeSize(c);
    case Next::kSizeLineFeed:
      return Expect(c, '\n', left_ > 0 ? Next::kData : Next::kEndReturn);
    case Next::kDataReturn:
      return Expect(c, '\r', Next::kDataLineFeed);
    case Next::kDataLineFeed:
      digits_ = 0;
      return Expect(c, '\n', Next::kSize);
    case Next::kEndReturn:
      return Expect(c, '\r', Next::kEndLineFeed);
    case Next::kEndLineFeed:
      Expect(c, '\n', Next::kEndLineFeed);
      if (state_ == BodyState::kNeedsMore) state_ = BodyState::kComplete;
      return;
    case Next::kData:
      return;
  }
}

void BodyReader::TakeSize(char c) {
  if (c == '\r' && digits_ > 0) {
    next_ = Next::kSizeLineFeed;
    return;
  }
  const int digit = HexDigit(c);
  if (digit < 0 || digits_ == kMostSizeDigits) {
    state_ = BodyState::kMalformed;
    return;
  }
  if (digits_ == 0) left_ = 0;
  ++digits_;
  left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
  if (left_ > kMostChunkBytes) state_ = BodyState::kMalformed;
}

void BodyReader::Expect(char c, char wanted, Next next) {
  if (c == wanted) {
    next_ = next;
  } else {
    state_ = BodyState::kMalformed;
  }
}

namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr unsigned kSwitchingProtocols = 101;
constexpr unsigned kFirstFinal = 200;
constexpr unsigned kNoContent = 204;
constexpr unsigned kNotModified = 304;
constexpr std::size_t kMostDigits = 18;

std::string_view WithoutBlanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), IsAsciiDigit);
}

std::uint64_t NumberOf(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char c : digits)
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  return number;
}

// Returns the status of "HTTP/1.1 200" and more; 0 for any other line.
unsigned StatusOf(std::string_view line) {
  const bool is_http = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  const std::string_view digits = line.substr(std::min(line.size(), std::size_t{9}), 3);
  const bool ends = line.size() == 12 || (line.size() > 12 && line[12] == ' ');
  return is_http && ends && IsNumber(digits) ? static_cast<unsigned>(NumberOf(digits)) : 0;
}

// Returns the framing fields of a head, as a request with this framing; nullopt if they are
// ambiguous.
std::optional<HttpRequest> FieldsOf(std::string_view head) {
  HttpRequest fields;
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const std::size_t end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    at = end + 2;
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t') {
      return std::nullopt;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = WithoutBlanks(line.substr(colon + 1));
    const bool is_length = EqualIgnoringCase(name, "Content-Length");
    const bool is_encoding = EqualIgnoringCase(name, "Transfer-Encoding");
    if (is_length || is_encoding) {
      if (fields.content_length || fields.is_chunked) return std::nullopt;
      if (is_length && !IsNumber(value)) return std::nullopt;
      if (is_encoding && !EqualIgnoringCase(value, "chunked")) return std::nullopt;
      if (is_length) fields.content_length = NumberOf(value);
      fields.is_chunked = is_encoding;
    } else if (EqualIgnoringCase(name, "Connection")) {
      fields.fields.push_back({.name = "Connection", .value = std::string(value)});
    }
  }
  return fields;
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
  const std::size_t before = head_.size();
  const std::size_t from = before < kHeadEnd.size() ? 0 : before - (kHeadEnd.size() - 1);
  head_ += bytes.substr(0, kMostHeadBytes - before);
  const std::size_t end = head_.find(kHeadEnd, from);
  if (end == std::string::npos) {
    if (head_.size() >= kMostHeadBytes) state_ = ResponseState::kUntilClose;
    return head_.size() - before;
  }
  head_.resize(end + kHeadEnd.size());
  const std::size_t taken = head_.size() - before;
  ReadHead();
  head_.clear();
  return taken;
}

void ResponseReader::ReadHead() {
  const unsigned status = StatusOf(std::string_view(head_).substr(0, head_.find("\r\n")));
  const auto fields = status == 0 ? std::nullopt : FieldsOf(head_);
  if (!fields) {
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
  const bool is_1_1 = head_.starts_with("HTTP/1.1");
  keeps_ = is_1_1 ? !ListHas(*fields, "Connection", "close")
                  : ListHas(*fields, "Connection", "keep-alive");
  if (is_to_head_ || status == kNoContent || status == kNotModified) {
    state_ = ResponseState::kComplete;
    return;
  }
  if (!fields->is_chunked && !fields->content_length) {
    state_ = ResponseState::kUntilClose;
    return;
  }
  body_.emplace(*fields);
  if (body_->state() == BodyState::kComplete) state_ = ResponseState::kComplete;
}

}  // namespace native_runner

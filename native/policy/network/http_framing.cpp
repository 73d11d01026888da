#include "policy/network/http_framing.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "policy/text/text.h"

namespace native_runner {

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

#include "policy/network/http/body_reader.h"

#include <algorithm>

#include "policy/text/ascii.h"

namespace native_runner {
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

}  // namespace native_runner

#include "policy/network/host_check.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "policy/network/ip_address.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::string_view kLocalhost = "localhost";
constexpr std::string_view kBelowLocalhost = ".localhost";
constexpr std::string_view kVersion1 = " HTTP/1.";
// Longer than each method that llhttp knows; it refuses all others.
constexpr std::size_t kMostMethod = 32;
// What is longer is data, and no method of a request that any server takes.
constexpr std::uint64_t kLongestMethod = std::uint64_t{4} << 20U;

constexpr unsigned kBadRequest = 400;
constexpr unsigned kMisdirected = 421;
constexpr unsigned kHeadTooLarge = 431;

// RFC 9110 5.6.2
bool IsMethodCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return IsAsciiDigit(c) || IsAsciiLetter(c) || kOthers.find(c) != std::string_view::npos;
}

bool IsControl(char c) {
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr char kDelete = 0x7f;
  return static_cast<unsigned char>(c) < kFirstPrintable || c == kDelete;
}

bool IsLoopbackName(std::string_view name) {
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  const std::string lowered = AsciiLowered(name);
  if (lowered == kLocalhost) return true;
  if (lowered.size() > kBelowLocalhost.size() && lowered.ends_with(kBelowLocalhost)) return true;
  const auto address = ParsePlainIpAddress(lowered);
  return address && address->is_v4() && KindOf(*address) == AddressKind::kLoopback;
}

bool IsPort(std::string_view text, std::uint16_t port) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number == port;
}

// Returns the authority of a target in absolute form, or of CONNECT; nullopt of any other.
std::optional<std::string_view> AuthorityOf(std::string_view target) {
  if (target.empty() || target.front() == '/' || target == "*") return std::nullopt;
  if (const std::size_t scheme = target.find("://"); scheme != std::string_view::npos)
    target.remove_prefix(scheme + 3);
  return target.substr(0, target.find_first_of("/?#"));
}

}  // namespace

bool IsLoopbackHost(std::string_view value, std::uint16_t port) {
  std::string_view name = value;
  std::string_view rest;
  if (!value.empty() && value.front() == '[') {
    const std::size_t end = value.find(']');
    if (end == std::string_view::npos) return false;
    const auto address = ParsePlainIpAddress(value.substr(1, end - 1));
    if (!address || address->is_v4() || KindOf(*address) != AddressKind::kLoopback) return false;
    rest = value.substr(end + 1);
  } else {
    const std::size_t end = std::min(value.find(':'), value.size());
    name = value.substr(0, end);
    if (!IsLoopbackName(name)) return false;
    rest = value.substr(end);
  }
  return rest.empty() || (rest.front() == ':' && IsPort(rest.substr(1), port));
}

HostCheck::State HostCheck::Feed(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && state_ == State::kNeedsMore && !is_http_)
    FeedLine(bytes[at++]);
  if (state_ == State::kNeedsMore && is_http_) FeedHead(bytes.substr(at));
  return state_;
}

HostCheck::State HostCheck::End() {
  if (state_ != State::kNeedsMore) return state_;
  if (is_http_) {
    Refuse(kBadRequest, "the request has no end");
  } else {
    state_ = State::kPasses;
  }
  return state_;
}

void HostCheck::FeedLine(char next) {
  if (!holds_) {
    if (next == ' ' && method_size_ > 0) {
      holds_ = true;
      line_ += next;
      target_at_ = line_.size();
    } else if (IsMethodCharacter(next) && method_size_ < kLongestMethod) {
      if (++method_size_ <= kMostMethod) line_ += next;
    } else {
      state_ = State::kPasses;
    }
    return;
  }
  if (next == '\n') return EndLine();
  line_ += next;
  if ((IsControl(next) && next != '\r') || !MayBeTarget()) {
    state_ = State::kPasses;
  } else if (line_.size() > kMostHead) {
    Refuse(kHeadTooLarge, "the request line is too long");
  }
}

// True if what follows the method is the beginning of a request's target (RFC 9112 3.2).
bool HostCheck::MayBeTarget() const {
  constexpr std::string_view kConnect = "CONNECT ";
  const std::string_view target = std::string_view(line_).substr(target_at_);
  if (target.front() == '/' || target.front() == '*' || line_.starts_with(kConnect)) return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::size_t size = std::min(scheme.size(), target.size());
    if (EqualIgnoringCase(target.substr(0, size), scheme.substr(0, size))) return true;
  }
  return false;
}

void HostCheck::EndLine() {
  std::string_view line = line_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const bool is_http = line.size() > kVersion1.size() && IsAsciiDigit(line.back()) &&
                       line.substr(0, line.size() - 1).ends_with(kVersion1);
  if (!is_http) {
    state_ = State::kPasses;
    return;
  }
  is_http_ = true;
  if (method_size_ > kMostMethod) return Refuse(kBadRequest, "no server knows its method");
  line_ += '\n';
  FeedHead(std::exchange(line_, {}));
}

void HostCheck::FeedHead(std::string_view bytes) {
  head_size_ += parser_.Feed(bytes);
  switch (parser_.state()) {
    case HeadParser::State::kNeedsMore:
      if (head_size_ > kMostHead) Refuse(kHeadTooLarge, "its head is too long");
      return;
    case HeadParser::State::kRefused:
      return Refuse(kBadRequest, "its head is malformed");
    case HeadParser::State::kComplete:
      CheckHost();
  }
}

void HostCheck::CheckHost() {
  std::optional<std::string_view> host;
  for (const HttpField& field : parser_.fields()) {
    if (!EqualIgnoringCase(field.name, "Host")) continue;
    if (host) return Refuse(kBadRequest, "it has several Host fields");
    host = field.value;
  }
  if (!host && parser_.minor_version() > 0) return Refuse(kBadRequest, "it has no Host field");
  for (const auto& named : {host, AuthorityOf(parser_.target())}) {
    if (!named || IsLoopbackHost(*named, port_)) continue;
    return Refuse(kMisdirected, "its host " + QuotedShort(*named) +
                                    " is not this machine's loopback: use 127.0.0.1:" +
                                    std::to_string(port_) + " or localhost");
  }
  state_ = State::kPasses;
}

void HostCheck::Refuse(unsigned status, std::string reason) {
  state_ = State::kRefused;
  status_ = status;
  reason_ = std::move(reason);
}

}  // namespace native_runner

#include "supervise/network/connection/replies.h"

#include "policy/network/rules/decision.h"

namespace native_runner {
namespace {

constexpr unsigned kStatusForbidden = 403;
constexpr unsigned kBadGateway = 502;
constexpr unsigned kGatewayTimeout = 504;

// RFC 9110 15; of those that are sent here.
const char* StatusText(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case kStatusForbidden:
      return "Forbidden";
    case 408:
      return "Request Timeout";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case kBadGateway:
      return "Bad Gateway";
    case kGatewayTimeout:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Refused";
  }
}

}  // namespace

std::string RefusalText(const NamedHost& host, std::uint16_t port, std::string_view reason) {
  const std::string whom = HostText(host) + ":" + std::to_string(port);
  if (reason == VerdictReasonText(VerdictReason::kNoRule) ||
      reason == VerdictReasonText(VerdictReason::kPort)) {
    return "no rule allows " + whom;
  }
  return whom + " is refused: " + std::string(reason);
}

std::string HttpRefusal(unsigned status, std::string_view text) {
  const std::string body = "native-runner: " + std::string(text) + "\n";
  return "HTTP/1.1 " + std::to_string(status) + " " + StatusText(status) +
         "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

unsigned HttpStatusOf(DialState state) {
  if (state == DialState::kNotPermitted) return kStatusForbidden;
  return state == DialState::kTimedOut ? kGatewayTimeout : kBadGateway;
}

SocksReply SocksReplyOf(DialState state) {
  switch (state) {
    case DialState::kConnected:
      return SocksReply::kSucceeded;
    case DialState::kNotPermitted:
      return SocksReply::kNotAllowed;
    case DialState::kRefused:
      return SocksReply::kConnectionRefused;
    case DialState::kUnresolved:
    case DialState::kUnreachable:
    case DialState::kTimedOut:
      return SocksReply::kHostUnreachable;
    case DialState::kFailed:
      break;
  }
  return SocksReply::kFailure;
}

}  // namespace native_runner

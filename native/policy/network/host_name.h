#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "policy/network/ip_address.h"
#include "policy/result.h"

namespace native_runner {

// Punycode (RFC 3492), without the "xn--" of an A-label. Pure; linear in what a label can hold.

// The code points that `text` stands for; nullopt for what is none: other characters, numbers that
// overflow or lead above U+10FFFF, surrogates.
std::optional<std::u32string> DecodePunycode(std::string_view text);

// The one form of `code_points`, in lower case.
std::string EncodePunycode(std::u32string_view code_points);

// Whether `label` (in lower case, with its "xn--") is the one A-label of a text that needs one (RFC
// 5890 2.3.2.1): it decodes, to more than ASCII, and encodes to itself again. Which code points
// IDNA permits (RFC 5892) is not looked at: that takes tables of Unicode, and a registry's rules.
bool IsALabel(std::string_view label);

// Why a text is no host name; HostFaultText says it.
enum class HostFault {
  kEmpty,
  kTooLong,
  kEmptyLabel,
  kLongLabel,
  kNonAscii,
  kCharacter,
  kHyphen,
  kALabel,
  kNumber,
};

// What a host name has to be where it is not, as the end of "expected …".
const char* HostFaultText(HostFault fault);

// The name of a host in its one form: lower case, without the dot at the end, letters, digits,
// hyphens and underscores. Only ParseHostName makes one, so whoever holds it need not check.
class HostName {
 public:
  // "registry.npmjs.org"; never empty, at most 253 bytes.
  const std::string& text() const { return text_; }
  // Whether it lies below `parent`, by whole labels: a.b.c below b.c and c, not below itself.
  bool IsBelow(const HostName& parent) const;

  friend auto operator<=>(const HostName&, const HostName&) = default;
  friend Result<HostName, HostFault> ParseHostName(std::string_view text);

 private:
  explicit HostName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// RFC 1123 2.1 with what is met besides: underscores, hyphens at a label's end. Labels of up to 63
// bytes, 253 in all (RFC 1035 2.3.4); one dot at the end is left out. A label that begins with
// "xn--" has to be an A-label. Beyond ASCII nothing is taken: which text a person means takes
// Unicode's tables (UTS 46), which JavaScript has (`domainToASCII`) and protocols don't send. What
// ends in a number is an address or nothing (see EndsInNumber). Pure.
Result<HostName, HostFault> ParseHostName(std::string_view text);

// Whom a client asks for: by name, or by an address, whatever way that was spelled.
using NamedHost = std::variant<HostName, IpAddress>;

// "example.com", "192.0.2.1", "2001:db8::1".
std::string HostText(const NamedHost& host);

// What is an address in any spelling is one, never a name. Pure.
Result<NamedHost, HostFault> ParseHost(std::string_view text);

// The two parts of "host:port", where IPv6 stands in brackets (RFC 3986 3.2). `port` is what stands
// behind the colon, unread; without a colon there is none. nullopt where brackets or colons don't
// fit.
struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port;
};
std::optional<HostAndPort> SplitHostPort(std::string_view text);

// 1 to 65535 in decimal, without sign, blanks or leading zeros.
std::optional<std::uint16_t> ParsePort(std::string_view text);

}  // namespace native_runner

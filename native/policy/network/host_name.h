#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "policy/network/ip_address.h"
#include "policy/result.h"

namespace native_runner {

// Punycode (RFC 3492), without the "xn--" of an A-label. Pure; linear in the length of a label.

// Returns the code points of `text`; nullopt if it is malformed: other characters, numbers that
// overflow or exceed U+10FFFF, surrogates.
std::optional<std::u32string> DecodePunycode(std::string_view text);

// Returns the canonical form of `code_points`, in lower case.
std::string EncodePunycode(std::u32string_view code_points);

// True if `label` (in lower case, with its "xn--") is the canonical A-label of a text that needs
// one (RFC 5890 2.3.2.1): it decodes to more than ASCII and encodes to itself again. Does not check
// which code points IDNA permits (RFC 5892), because that takes Unicode tables and a registry's
// rules.
bool IsALabel(std::string_view label);

// Why a text is not a host name. HostFaultText describes it.
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

// Returns the requirement that a host name failed, as the end of "expected …".
const char* HostFaultText(HostFault fault);

// A host name in its canonical form: lower case, without the dot at the end, letters, digits,
// hyphens and underscores. Only ParseHostName makes one, so its users need not check it.
class HostName {
 public:
  // Returns "registry.npmjs.org"; never empty, at most 253 bytes.
  const std::string& text() const { return text_; }
  // True if the name lies below `parent` by whole labels: a.b.c is below b.c and c, not below
  // itself.
  bool IsBelow(const HostName& parent) const;

  friend auto operator<=>(const HostName&, const HostName&) = default;
  friend Result<HostName, HostFault> ParseHostName(std::string_view text);

 private:
  explicit HostName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// Parses RFC 1123 2.1 host names and the common exceptions: underscores, hyphens at a label's end.
// Labels have up to 63 bytes, 253 in all (RFC 1035 2.3.4); one dot at the end is left out. A label
// that begins with "xn--" has to be an A-label. Refuses text beyond ASCII: mapping it takes Unicode
// tables (UTS 46), which JavaScript has (`domainToASCII`) and protocols don't send. Text that ends
// in a number is an address or a fault (see EndsInNumber). Pure.
Result<HostName, HostFault> ParseHostName(std::string_view text);

// The host that a client asks for: a name, or an address in whatever spelling.
using NamedHost = std::variant<HostName, IpAddress>;

// Returns "example.com", "192.0.2.1", "2001:db8::1".
std::string HostText(const NamedHost& host);

// Parses a host. Text that is an address in any spelling is an address, never a name. Pure.
Result<NamedHost, HostFault> ParseHost(std::string_view text);

// The two parts of "host:port", with IPv6 in brackets (RFC 3986 3.2). `port` is the unparsed text
// after the colon; nullopt without a colon. Returns nullopt if brackets or colons don't fit.
struct HostAndPort {
  std::string_view host;
  std::optional<std::string_view> port;
};
std::optional<HostAndPort> SplitHostPort(std::string_view text);

// Parses 1 to 65535 in decimal, without sign, blanks or leading zeros.
std::optional<std::uint16_t> ParsePort(std::string_view text);

// The ports on which every sandbox with a network by domain listens, besides those of its rules:
// DNS, and the proxy (HTTP and SOCKS 5, distinguished by the first byte).
inline constexpr std::uint16_t kDnsPort = 53;
inline constexpr std::uint16_t kProxyPort = 3128;

// One entry of `network.hostPorts`: a port of the host's own loopback that is at the same port of
// the sandbox's loopback, at 127.0.0.1 and ::1, whatever the host's address is.
struct HostPort {
  IpAddress address;  // on the host: in 127.0.0.0/8, or ::1
  std::uint16_t port = 0;

  // In the canonical spelling that is recorded and hashed: "127.0.0.1:5432", "[::1]:5432".
  std::string text() const;
};

// Reads an entry: "5432" (of 127.0.0.1), "127.0.0.2:5432" or "[::1]:5432". `field` names it in an
// error ("network.hostPorts[2]"). Refuses names, since what a name leads to changes, every address
// that is not the loopback's in its plain spelling, and the sandbox's own ports. Pure.
Result<HostPort> ReadHostPort(std::string_view text, std::string_view field);

// Returns the entries in the order of their ports, equal ones once. An error if two of them are of
// the same port and different addresses: the sandbox has one port for both. Pure.
Result<std::vector<HostPort>> OnePerPort(std::vector<HostPort> entries);

}  // namespace native_runner

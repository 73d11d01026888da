#include "policy/network/host_port.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "policy/network/host_name.h"
#include "policy/network/network_rules.h"

namespace native_runner {
namespace {

constexpr char kHostPortWanted[] =
    R"(a port of the host's loopback, from 1 to 65535: 5432, "127.0.0.1:5432" or "[::1]:5432")";

// Reads an address of the loopback: in 127.0.0.0/8, or ::1 in brackets. No other spelling, such as
// that of a mapped address, which some programs take for another one.
std::optional<IpAddress> ReadLoopback(std::string_view host) {
  if (host == "[::1]") {
    IpAddress::V6Bytes bytes{};
    bytes.back() = 1;
    return IpAddress::V6(bytes);
  }
  const auto address = ParsePlainIpAddress(host);
  const bool is_v4 = address && address->is_v4() && host.find(':') == std::string_view::npos;
  if (!is_v4 || address->bytes()[0] != 127) return std::nullopt;
  return address;
}

}  // namespace

std::string HostPort::text() const {
  const std::string host = IpText(address);
  return (address.is_v4() ? host : "[" + host + "]") + ":" + std::to_string(port);
}

Result<HostPort> ReadHostPort(std::string_view text, std::string_view field) {
  HostPort entry{.address = IpAddress::V4(0x7f000001), .port = 0};
  std::string_view digits = text;
  if (text.find(':') != std::string_view::npos) {
    const auto parts = SplitHostPort(text);
    const auto address = parts ? ReadLoopback(parts->host) : std::nullopt;
    if (!address || !parts->port) return UnexpectedRule(field, kHostPortWanted, text);
    entry.address = *address;
    digits = *parts->port;
  }
  const auto port = ParsePort(digits);
  if (!port) return UnexpectedRule(field, kHostPortWanted, text);
  if (*port == kDnsPort || *port == kProxyPort) {
    return UnexpectedRule(field,
                          "another port than 53 and 3128, which each sandbox has for its names and "
                          "its proxy",
                          text);
  }
  entry.port = *port;
  return entry;
}

Result<std::vector<HostPort>> OnePerPort(std::vector<HostPort> entries) {
  std::ranges::sort(entries, {},
                    [](const HostPort& each) { return std::pair(each.port, each.text()); });
  const auto is_same = [](const HostPort& one, const HostPort& other) {
    return one.port == other.port && one.address == other.address;
  };
  const auto last = std::unique(entries.begin(), entries.end(), is_same);
  entries.erase(last, entries.end());
  const auto same = std::ranges::adjacent_find(entries, {}, &HostPort::port);
  if (same == entries.end()) return entries;
  return Error{.code = ErrorCode::kInvalidValue,
               .message = "Expected `network.hostPorts` to have one address for each port, got " +
                          same->text() + " and " + std::next(same)->text(),
               .fix = ""};
}

}  // namespace native_runner

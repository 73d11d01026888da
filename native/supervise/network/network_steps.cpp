#include "supervise/network/network_steps.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "policy/network/dns.h"
#include "protocol/identity.h"
#include "protocol/order.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

std::vector<SandboxListener> ListenersOf(const NetworkRules& rules) {
  using Kind = SandboxListener::Kind;
  std::vector<SandboxListener> listeners = {{.kind = Kind::kTcp, .port = kDnsPort},
                                            {.kind = Kind::kTcp, .port = kProxyPort},
                                            {.kind = Kind::kUdpDns, .port = kDnsPort}};
  for (const std::uint16_t port : PortsOf(rules)) {
    if (port != kDnsPort && port != kProxyPort) {
      listeners.push_back({.kind = Kind::kTcp, .port = port});
    }
  }
  return listeners;
}

namespace {

// Routes the synthetic IPv6 addresses to the loopback. Those of IPv4 are in 127.0.0.0/8, which
// leads there anyway.
std::string BlockStep() {
  constexpr char kDigits[] = "0123456789abcdef";
  const Cidr block = SyntheticAddresses::V6Block();
  std::string step = kStepLocalBlock + std::to_string(block.length) + ":";
  for (const std::uint8_t byte : block.base.bytes()) {
    step += kDigits[byte >> 4U];
    step += kDigits[byte & 15U];
  }
  return step;
}

std::string ListenStep(const NetworkRules& rules) {
  std::string step;
  for (const SandboxListener& listener : ListenersOf(rules)) {
    step += step.empty() ? kStepListen : ',';
    if (listener.kind == SandboxListener::Kind::kUdpDns) step += kUdpPort;
    step += std::to_string(listener.port);
  }
  return step;
}

}  // namespace

static_assert(kMostPorts + 3 <= kMostMade);

std::vector<std::string> NetworkSteps(const NetworkRules& rules, bool with_user) {
  std::string network(1, kStepNetworkNamespace);
  if (with_user) network += kStepUserNamespace;
  return {std::move(network), BlockStep(), ListenStep(rules)};
}

namespace {

std::uint64_t OwnNumber() {
  std::array<char, 64> text{};
  const ssize_t size = readlink("/proc/self/ns/net", text.data(), text.size() - 1);
  return size <= 0 ? 0 : NamespaceNumber(text.data());
}

std::uint64_t OwnCookie() {
  const Descriptor opened(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const int result = getsockopt(opened.get(), SOL_SOCKET, kNetworkCookieOption, &cookie, &size);
  return result == 0 && size == sizeof cookie ? cookie : 0;
}

}  // namespace

std::optional<Error> OrderOwnNetwork(OrderHeader* order) {
  order->flags |= kOrderOwnNetworkNamespace;
  order->network_namespace = OwnNumber();
  order->network_cookie = OwnCookie();
  if (order->network_namespace != 0) return std::nullopt;
  return Error{ErrorCode::kSetup,
               "network-by-domain: /proc/self/ns/net, by which a sandbox is told from the host, "
               "can't be read",
               "mount a /proc, or set network to \"deny\""};
}

}  // namespace native_runner

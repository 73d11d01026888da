#include "supervise/network/sandbox_network.h"

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

}  // namespace native_runner

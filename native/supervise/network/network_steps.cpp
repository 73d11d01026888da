#include "supervise/network/network_steps.h"

#include <cstddef>

#include "policy/network/synthetic/synthetic_addresses.h"
#include "protocol/step.h"
#include "supervise/network/sandbox_network.h"

namespace native_runner {
namespace {

// Those of IPv4 are in 127.0.0.0/8, which is the loopback's anyway.
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

}  // namespace native_runner

#include "supervise/network/sandbox_network.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "policy/network/dns.h"
#include "protocol/identity.h"
#include "protocol/order.h"

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

const char* TakeListeners(std::vector<Descriptor> made, SandboxNetwork* network, uv_loop_t* loop) {
  for (Descriptor& listener : made) {
    if (!network->is_complete() && listener.valid()) network->Take(std::move(listener));
  }
  if (!network->is_complete()) return "a listener is missing";
  return network->Start(loop) ? nullptr : "it can't be watched";
}

std::uint64_t OpenQuestions::Ask(std::uint64_t asker, NetworkQuestion question,
                                 OnAnswer on_answer) {
  const std::uint64_t number = ++last_;
  auto open = std::make_unique<Open>();
  open->on_answer = std::move(on_answer);
  open->is_reported = asker != 0 && open_.size() < kMostOpenQuestions;
  // Even an immediate answer is delivered later, as the caller does not have the number yet.
  open->deadline.Start(loop_, open->is_reported ? answer_within_ms_ : 0, 0,
                       [this, number] { End(number); });
  const bool is_reported = open->is_reported;
  open_.emplace(number, std::move(open));
  if (is_reported) on_question_(number, asker, std::move(question));
  return number;
}

void OpenQuestions::Withdraw(std::uint64_t question) {
  const auto found = open_.find(question);
  if (found == open_.end()) return;
  const bool is_reported = found->second->is_reported;
  open_.erase(found);
  if (is_reported) on_gone_(question);
}

void OpenQuestions::Answer(std::uint64_t question, NetworkAnswer answer) {
  const auto found = open_.find(question);
  if (found == open_.end()) return;
  const OnAnswer on_answer = std::move(found->second->on_answer);
  open_.erase(found);
  on_answer(answer);
}

void OpenQuestions::End(std::uint64_t question) {
  const auto found = open_.find(question);
  const bool is_reported = found->second->is_reported;
  const OnAnswer on_answer = std::move(found->second->on_answer);
  open_.erase(found);  // also closes the timer that calls this
  if (is_reported) on_gone_(question);
  on_answer(NetworkAnswer::kNone);
}

}  // namespace native_runner

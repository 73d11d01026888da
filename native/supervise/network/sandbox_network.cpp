#include "supervise/network/sandbox_network.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "policy/network/dns.h"
#include "policy/network/network_rules.h"
#include "protocol/identity.h"
#include "protocol/order.h"
#include "supervise/network/connection.h"
#include "supervise/network/dns.h"
#include "supervise/network/proxy.h"
#include "supervise/network/sockets.h"
#include "supervise/network/tunnel.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"

namespace native_runner {
namespace {

// Turns for connections that came before the last command ended; they cover more than the kernel
// queues per listener.
constexpr int kLastTurns = 128;

// Returns the rules' complete names. They get the first addresses, regardless of other questions.
std::vector<HostName> KnownNames(const NetworkRules& rules) {
  std::vector<HostName> names;
  for (const HostRule& rule : rules.allow) {
    if (!rule.pattern.is_wildcard) names.push_back(rule.pattern.name);
  }
  return names;
}

bool IsOwnLoopback(const IpAddress& address) {
  constexpr IpAddress::V6Bytes kV6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address == IpAddress::V4(0x7f000001) || address == IpAddress::V6(kV6);
}

const HostPort* HostPortOf(const NetworkRules& rules, std::uint16_t port) {
  const auto found = std::ranges::find(rules.host_ports, port, &HostPort::port);
  return found == rules.host_ports.end() ? nullptr : &*found;
}

// Returns a sandbox's share of connections: an eighth of this process's descriptor limit.
std::size_t MostByDescriptors() {
  constexpr rlim_t kShare = 8;
  constexpr std::size_t kFewest = 16;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewest;
  return std::max(kFewest, static_cast<std::size_t>(limit.rlim_cur / kShare));
}

bool IsOfIpv6(const Descriptor& socket) {
  int family = 0;
  socklen_t size = sizeof family;
  return getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family == AF_INET6;
}

}  // namespace

struct SandboxNetwork::Live {
  Live(SandboxNetwork* network, uv_loop_t* loop, NetworkQuestions* questions, bool has_v6);

  Resolver resolver;
  Admissions admissions;
  PipePool pipes;
  DnsResponder responder;
  HeadShare head_share;
  NetworkParts parts;
  Connections connections;
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::unique_ptr<DnsSocket> dns;
};

SandboxNetwork::Live::Live(SandboxNetwork* network, uv_loop_t* loop, NetworkQuestions* questions,
                           bool has_v6)
    : resolver(loop, &network->options_),
      admissions(network->policy_.get(), questions, &network->recorder_),
      responder(network->policy_.get(), &network->names_, &network->recorder_, has_v6),
      head_share(loop, &network->options_),
      parts{.loop = loop,
            .policy = network->policy_.get(),
            .options = &network->options_,
            .recorder = &network->recorder_,
            .resolver = &resolver,
            .admissions = &admissions,
            .pipes = &pipes,
            .head_share = &head_share},
      connections(loop, &network->options_, [this] {
        for (const auto& acceptor : acceptors)
          acceptor->Resume();
      }) {}

SandboxNetwork::SandboxNetwork(std::shared_ptr<const NetworkPolicy> policy,
                               NetworkQuestions* questions, NetworkOptions options)
    : policy_(std::move(policy)),
      questions_(questions),
      options_(std::move(options)),
      wanted_(ListenersOf(policy_->rules)),
      names_(KnownNames(policy_->rules)) {
  options_.most_connections = std::min(options_.most_connections, MostByDescriptors());
}

SandboxNetwork::~SandboxNetwork() {
  Close();
}

bool SandboxNetwork::Start(uv_loop_t* loop) {
  if (!is_complete() || live_) return false;
  loop_ = loop;
  const bool has_v6 = std::any_of(taken_.begin(), taken_.end(), IsOfIpv6);
  live_ = std::make_unique<Live>(this, loop, questions_, has_v6);
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (taken_[i].valid() && Watch(wanted_[i], std::move(taken_[i]))) continue;
    Close();
    return false;
  }
  return true;
}

bool SandboxNetwork::Watch(const SandboxListener& listener, Descriptor socket) {
  if (listener.kind == SandboxListener::Kind::kUdpDns) {
    live_->dns = std::make_unique<DnsSocket>(&live_->responder, std::move(socket));
    return live_->dns->Start(loop_);
  }
  const std::uint16_t port = listener.port;
  live_->acceptors.push_back(std::make_unique<Acceptor>(
      std::move(socket), port, &live_->head_share, [this] { return live_->connections.has_room(); },
      [this, port](Descriptor accepted, bool may_serve) {
        Accepted(port, std::move(accepted), may_serve);
      }));
  return live_->acceptors.back()->Start(loop_);
}

void SandboxNetwork::Accepted(std::uint16_t port, Descriptor socket, bool may_serve) {
  const auto local = LocalEndpoint(socket.get());
  if (!local) return;  // already closed
  const HostName* name = names_.NameOf(local->address);
  const bool is_at_loopback = IsOwnLoopback(local->address);
  const HostPort* host_port = is_at_loopback ? HostPortOf(policy_->rules, port) : nullptr;
  const bool is_own = is_at_loopback && (port == kDnsPort || port == kProxyPort);
  const std::string host = name != nullptr ? name->text() : IpText(local->address);
  if (name == nullptr && !is_own && host_port == nullptr) {
    return Refuse(host, port, VerdictReasonText(VerdictReason::kAddress), std::move(socket));
  }
  if (!may_serve) {
    return Refuse(host, port, "the host has no descriptors left", std::move(socket));
  }
  // There is no record to add it to.
  if (!recorder_.has_commands()) return ResetConnection(std::move(socket));
  if (name == nullptr && host_port != nullptr) return ServeHostPort(host_port, std::move(socket));
  Serve(port, std::move(socket), name != nullptr ? std::make_unique<HostName>(*name) : nullptr);
}

void SandboxNetwork::ServeHostPort(const HostPort* entry, Descriptor socket) {
  SetNoDelay(socket.get());
  SocketStream client(std::move(socket));
  if (!client.Open(loop_)) return client.Reset();
  live_->connections.Add(std::make_unique<HostPortConnection>(
      &live_->parts, &live_->connections, uv_hrtime(), std::move(client), entry));
}

void SandboxNetwork::Serve(std::uint16_t port, Descriptor socket, std::unique_ptr<HostName> name) {
  SetNoDelay(socket.get());
  SocketStream client(std::move(socket));
  if (!client.Open(loop_)) return client.Reset();
  const std::uint64_t now = uv_hrtime();
  Connections& connections = live_->connections;
  const NetworkParts* parts = &live_->parts;
  if (name != nullptr) {
    connections.Add(std::make_unique<Tunnel>(parts, &connections, now, std::move(client), *name,
                                             port, ConnectionVia::kTransparent));
  } else if (port == kDnsPort) {
    connections.Add(std::make_unique<DnsStream>(parts, &connections, now, std::move(client),
                                                &live_->responder));
  } else {
    connections.Add(std::make_unique<ProxyFront>(parts, &connections, now, std::move(client)));
  }
}

void SandboxNetwork::Refuse(const std::string& host, std::uint16_t port, const std::string& reason,
                            Descriptor socket) {
  ConnectionRecord record;
  record.host = host;
  record.port = port;
  record.reason = reason;
  recorder_.Refused(record);
  ResetConnection(std::move(socket));
}

std::uint64_t SandboxNetwork::Enter(std::vector<std::string> argv, OnRecord on_record,
                                    std::uint64_t terminator_run) {
  return recorder_.Enter(std::move(argv), std::move(on_record), terminator_run);
}

ConnectionLog SandboxNetwork::Leave(std::uint64_t command) {
  if (live_ && recorder_.is_only(command)) {
    // Requests that the command made before its end belong in its record, even those not processed
    // yet.
    live_->head_share.Lift();
    live_->connections.CatchUp();
    for (int turn = 0; turn < kLastTurns && live_->dns && live_->dns->AnswerSome(); ++turn) {
    }
    bool is_more = true;
    for (int turn = 0; turn < kLastTurns && is_more; ++turn) {
      is_more = false;
      for (const auto& acceptor : live_->acceptors)
        is_more = acceptor->AcceptSome() || is_more;
      live_->connections.Drain();
    }
  }
  return recorder_.Leave(command);
}

bool SandboxNetwork::ListensOn(std::uint16_t port) const {
  return std::ranges::any_of(wanted_, [port](const SandboxListener& listener) {
    return listener.kind != SandboxListener::Kind::kUdpDns && listener.port == port;
  });
}

std::size_t SandboxNetwork::size() const {
  return live_ ? live_->connections.size() : 0;
}

void SandboxNetwork::Close() {
  taken_.clear();
  if (live_) live_->acceptors.clear();
  live_.reset();
}

const char* TakeListeners(std::vector<Descriptor> made, SandboxNetwork* network, uv_loop_t* loop) {
  for (Descriptor& listener : made) {
    if (!network->is_complete() && listener.valid()) network->Take(std::move(listener));
  }
  if (!network->is_complete()) return "a listener is missing";
  return network->Start(loop) ? nullptr
                              : "this user's epoll watches are used up (fs.epoll.max_user_watches)";
}

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

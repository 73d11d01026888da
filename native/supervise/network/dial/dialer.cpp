#include "supervise/network/dial/dialer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "policy/network/rules/decision.h"
#include "supervise/network/dial/own_address.h"
#include "supervise/network/io/descriptors_left.h"
#include "supervise/network/io/endpoint.h"

namespace native_runner {
namespace {

// RFC 8305 4: families in turn, beginning with the one that the resolver has first.
std::vector<IpAddress> InTurn(const std::vector<IpAddress>& addresses) {
  std::deque<IpAddress> same;
  std::deque<IpAddress> other;
  for (const IpAddress& address : addresses)
    (address.is_v4() == addresses.front().is_v4() ? same : other).push_back(address);
  std::vector<IpAddress> turns;
  while (!same.empty() || !other.empty()) {
    for (auto* queue : {&same, &other}) {
      if (queue->empty()) continue;
      turns.push_back(queue->front());
      queue->pop_front();
    }
  }
  return turns;
}

DialState StateOf(int error) {
  switch (error) {
    case ECONNREFUSED:
      return DialState::kRefused;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return DialState::kUnreachable;
    case ETIMEDOUT:
      return DialState::kTimedOut;
    default:
      return DialState::kFailed;
  }
}

}  // namespace

void Dialer::Dial(const NetworkRules& rules, const HostName& name, std::uint16_t port,
                  OnDialled on_dialled) {
  Stop();
  on_dialled_ = std::move(on_dialled);
  port_ = port;
  next_ = 0;
  last_ = {};
  addresses_.clear();
  uv_update_time(loop_);
  deadline_.Start(loop_, options_->connect_ms, 0, [this] {
    Dialled dialled = std::move(last_);
    dialled.state = DialState::kTimedOut;
    dialled.fault = "it did not answer in time";
    End(std::move(dialled));
  });
  question_ = resolver_->Ask(name, [this, &rules, name](const Resolver::Found& found) {
    question_ = 0;
    Resolved(rules, name, found);
  });
}

void Dialer::Stop() {
  if (question_ != 0) resolver_->Forget(std::exchange(question_, 0));
  beside_.Stop();
  deadline_.Stop();
  for (auto& attempt : attempts_) {
    attempt->watch.Close();
    attempt->socket.Close();
    ended_.push_back(std::move(attempt));
  }
  attempts_.clear();
  on_dialled_ = nullptr;
}

void Dialer::Resolved(const NetworkRules& rules, const HostName& name,
                      const Resolver::Found& found) {
  Dialled dialled;
  std::vector<IpAddress> permitted;
  for (const IpAddress& address : found.addresses) {
    const Decision decision = DecideAddress(rules, name, address, LeadsToThisMachine(address));
    if (decision.verdict == Verdict::kAllowed) {
      permitted.push_back(address);
    } else if (!dialled.address) {
      dialled.address = address;
      dialled.fault = VerdictReasonText(decision.reason);
    }
  }
  if (permitted.empty()) {
    dialled.state = dialled.address ? DialState::kNotPermitted : DialState::kUnresolved;
    if (!dialled.address) dialled.fault = found.fault;
    End(std::move(dialled));
    return;
  }
  addresses_ = InTurn(permitted);
  Next();
}

void Dialer::Next() {
  ended_.clear();
  while (next_ < addresses_.size()) {
    const std::size_t before = attempts_.size();
    Begin(addresses_[next_++]);
    if (!on_dialled_) return;  // it is connected
    if (attempts_.size() == before) continue;
    if (next_ < addresses_.size()) {
      beside_.Start(loop_, options_->attempt_ms, 0, [this] { Next(); });
    }
    return;
  }
  if (attempts_.empty()) End(std::move(last_));
}

void Dialer::Begin(const IpAddress& address) {
  auto attempt = std::make_unique<Attempt>();
  attempt->address = address;
  const int family = address.is_v4() ? AF_INET : AF_INET6;
  attempt->socket = Descriptor(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!attempt->socket.valid()) return Failed(attempt.get(), errno);
  if (!LeavesDescriptors(attempt->socket.get())) return Failed(attempt.get(), EMFILE);
  SetNoDelay(attempt->socket.get());
  SetKeepAlive(attempt->socket.get());
  const SocketAddress target({.address = address, .port = port_});
  if (connect(attempt->socket.get(), target.get(), target.size) == 0) {
    return End({.state = DialState::kConnected,
                .socket = std::move(attempt->socket),
                .address = address,
                .fault = ""});
  }
  if (errno != EINPROGRESS) return Failed(attempt.get(), errno);
  Attempt* watched = attempt.get();
  if (!watched->watch.Open(loop_, watched->socket.get())) return Failed(watched, ENOMEM);
  watched->watch.set_callback([this, watched] { Looked(watched); });
  watched->watch.Want(UV_WRITABLE);
  attempts_.push_back(std::move(attempt));
}

void Dialer::Looked(Attempt* attempt) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(attempt->socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  attempt->watch.Close();
  if (error == 0) {
    return End({.state = DialState::kConnected,
                .socket = std::move(attempt->socket),
                .address = attempt->address,
                .fault = ""});
  }
  Failed(attempt, error);
  const auto found = std::find_if(attempts_.begin(), attempts_.end(),
                                  [attempt](const auto& one) { return one.get() == attempt; });
  ended_.push_back(std::move(*found));
  attempts_.erase(found);
  beside_.Stop();
  Next();  // at once: waiting for this one is over
}

void Dialer::Failed(Attempt* attempt, int error) {
  last_ = {.state = StateOf(error),
           .socket = {},
           .address = attempt->address,
           .fault = std::string("it can't be connected to: ") + std::strerror(error)};
}

void Dialer::End(Dialled dialled) {
  const OnDialled on_dialled = std::move(on_dialled_);
  Stop();
  if (on_dialled) on_dialled(std::move(dialled));
}

}  // namespace native_runner

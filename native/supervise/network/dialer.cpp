#include "supervise/network/dialer.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "policy/network/network_rules.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostAddresses = 32;  // per name; further ones are not tried

Resolver::Found FoundOf(int status, const addrinfo* list) {
  Resolver::Found found;
  if (status != 0) {
    found.fault = std::string("it can't be resolved: ") + uv_strerror(status);
    return found;
  }
  for (; list != nullptr && found.addresses.size() < kMostAddresses; list = list->ai_next) {
    const auto endpoint = EndpointOf(list->ai_addr);
    if (!endpoint) continue;
    auto& addresses = found.addresses;
    if (std::find(addresses.begin(), addresses.end(), endpoint->address) == addresses.end()) {
      addresses.push_back(endpoint->address);
    }
  }
  if (found.addresses.empty()) found.fault = "it can't be resolved: it has no address";
  return found;
}

// A result of getaddrinfo(3) as libuv's error. `number`: errno after it.
int ErrorOf(int result, int number) {
  switch (result) {
    case 0:
      return 0;
    case EAI_SYSTEM:
      return -number;
    case EAI_AGAIN:
      return UV_EAI_AGAIN;
    case EAI_MEMORY:
      return UV_EAI_MEMORY;
    case EAI_NONAME:
      return UV_EAI_NONAME;
#if defined(EAI_NODATA)
    case EAI_NODATA:
      return UV_EAI_NODATA;
#endif
    default:
      return UV_EAI_FAIL;
  }
}

}  // namespace

// Shared with the threads, which may outlive the loop.
struct Resolver::Shared {
  std::mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<LookUp>> ended;
  uv_async_t* wake = nullptr;  // nullptr: nobody waits any more
};

struct Resolver::LookUp {
  static inline std::atomic<std::size_t> in_process = 0;

  std::string name;
  std::uint64_t number = 0;
  std::shared_ptr<Shared> shared;
  int status = 0;  // 0 or a negative libuv error
  addrinfo* list = nullptr;

  LookUp() { ++in_process; }
  ~LookUp() {
    --in_process;
    if (list != nullptr) freeaddrinfo(list);
  }
  LookUp(const LookUp&) = delete;
  LookUp& operator=(const LookUp&) = delete;
};

Resolver::Resolver(uv_loop_t* loop, const NetworkOptions* options)
    : loop_(loop),
      options_(options),
      self_(std::make_shared<Resolver*>(this)),
      shared_(std::make_shared<Shared>()) {}

Resolver::~Resolver() {
  *self_ = nullptr;
  if (wake_ == nullptr) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->wake = nullptr;
  }
  wake_->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(wake_),
           [](uv_handle_t* closed) { delete reinterpret_cast<uv_async_t*>(closed); });
}

std::uint64_t Resolver::Ask(const HostName& name, OnFound on_found) {
  const std::uint64_t number = ++next_;
  Question& question = questions_[number];
  question.name = name.text();
  question.on_found = std::move(on_found);
  const auto known = options_->hosts.find(question.name);
  if (known != options_->hosts.end()) {
    question.known.Start(loop_, 0, 0, [this, number, addresses = known->second] {
      Answer(number, {.addresses = addresses, .fault = "it can't be resolved"});
    });
    return number;
  }
  waiting_.push_back(number);
  Begin();
  return number;
}

void Resolver::Forget(std::uint64_t question) {
  questions_.erase(question);
  const auto found = std::find(waiting_.begin(), waiting_.end(), question);
  if (found != waiting_.end()) waiting_.erase(found);
}

void Resolver::Begin() {
  constexpr std::uint64_t kAgainMs = 10;
  while (running_ < options_->most_resolving && !waiting_.empty()) {
    if (LookUp::in_process >= kMostInProcess) {
      again_.Start(loop_, kAgainMs, 0, [this] { Begin(); });
      return;
    }
    const std::uint64_t number = waiting_.front();
    waiting_.erase(waiting_.begin());
    Begin(number, questions_[number].name);
  }
}

void Resolver::Begin(std::uint64_t number, const std::string& name) {
  int failed = Open();
  if (failed == 0 && Start(number, name)) return;
  if (failed == 0) failed = UV_EAGAIN;  // no more threads may be started
  questions_[number].known.Start(
      loop_, 0, 0, [this, number, failed] { Answer(number, FoundOf(failed, nullptr)); });
}

// Returns 0 or a negative libuv error.
int Resolver::Open() {
  if (wake_ != nullptr) return 0;
  auto wake = std::make_unique<uv_async_t>();
  wake->data = this;
  const int failed = uv_async_init(loop_, wake.get(), [](uv_async_t* handle) {
    if (handle->data != nullptr) static_cast<Resolver*>(handle->data)->TakeEnded();
  });
  if (failed != 0) return failed;
  uv_unref(reinterpret_cast<uv_handle_t*>(wake.get()));
  wake_ = wake.release();
  shared_->wake = wake_;
  return 0;
}

bool Resolver::Start(std::uint64_t number, const std::string& name) {
  auto look_up = std::make_unique<LookUp>();
  look_up->name = name;
  look_up->number = number;
  look_up->shared = shared_;
  if (!StartDetached(Main, look_up.get())) return false;
  static_cast<void>(look_up.release());  // Main owns it
  if (running_++ == 0) uv_ref(reinterpret_cast<uv_handle_t*>(wake_));
  return true;
}

void* Resolver::Main(void* look_up) {
  std::unique_ptr<LookUp> mine(static_cast<LookUp*>(look_up));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const int result = getaddrinfo(mine->name.c_str(), nullptr, &hints, &mine->list);
  if (result != 0) mine->list = nullptr;
  mine->status = ErrorOf(result, errno);
  // Moved out: what has ended is held by Shared, and must not hold it in turn.
  const std::shared_ptr<Shared> shared = std::move(mine->shared);
  const std::lock_guard lock(shared->mutex);
  if (shared->wake == nullptr) return nullptr;
  shared->ended.push_back(std::move(mine));
  uv_async_send(shared->wake);
  return nullptr;
}

void Resolver::TakeEnded() {
  std::vector<std::unique_ptr<LookUp>> ended;
  {
    const std::lock_guard lock(shared_->mutex);
    ended.swap(shared_->ended);
  }
  running_ -= ended.size();
  if (running_ == 0) uv_unref(reinterpret_cast<uv_handle_t*>(wake_));
  Begin();
  const auto self = self_;  // who is answered may destroy this
  for (const std::unique_ptr<LookUp>& each : ended) {
    if (*self == nullptr) return;
    Answer(each->number, FoundOf(each->status, each->list));
  }
}

void Resolver::Answer(std::uint64_t number, Found found) {
  const auto asked = questions_.find(number);
  if (asked == questions_.end()) return;
  const OnFound on_found = std::move(asked->second.on_found);
  questions_.erase(asked);
  on_found(std::move(found));
}

namespace {

struct RouteQuestion {
  nlmsghdr header{};
  rtmsg route{};
  rtattr attribute{};
  std::array<std::uint8_t, 16> address{};
};

std::size_t Write(const IpAddress& address, RouteQuestion* question) {
  const std::size_t bytes = address.is_v4() ? 4 : 16;
  question->route.rtm_family = address.is_v4() ? AF_INET : AF_INET6;
  question->route.rtm_dst_len = static_cast<unsigned char>(8 * bytes);
  question->attribute.rta_type = RTA_DST;
  question->attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
  std::ranges::copy(address.bytes(), question->address.begin());
  const std::size_t size = offsetof(RouteQuestion, address) + bytes;
  question->header.nlmsg_len = static_cast<std::uint32_t>(size);
  question->header.nlmsg_type = RTM_GETROUTE;
  question->header.nlmsg_flags = NLM_F_REQUEST;
  return size;
}

// Returns true if a connection to the address would stay on this machine, by the kernel's routing
// tables (rtnetlink(7), RTM_GETROUTE); these include addresses that were added since we started.
// Also true if the tables can't be read. Does not wait. Any thread.
bool LeadsToThisMachine(const IpAddress& address) {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.valid()) return true;
  RouteQuestion question;
  const std::size_t size = Write(address, &question);
  if (send(socket.get(), &question, size, 0) != static_cast<ssize_t>(size)) return true;
  // The kernel answers synchronously, within send.
  alignas(nlmsghdr) std::array<char, 4096> answer{};
  const ssize_t got = recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr header{};
  if (got < static_cast<ssize_t>(sizeof header)) return true;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type == NLMSG_ERROR) return false;  // no route leads there
  if (header.nlmsg_type != RTM_NEWROUTE || got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(rtmsg))))
    return true;
  rtmsg route{};
  std::memcpy(&route, answer.data() + NLMSG_HDRLEN, sizeof route);
  return route.rtm_type != RTN_UNICAST;
}

// RFC 8305 4: alternates address families, starting with that of the resolver's first address.
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

void Dialer::Prepare(std::uint16_t port, OnDialled on_dialled) {
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
}

void Dialer::DialAddress(const IpAddress& address, std::uint16_t port, OnDialled on_dialled) {
  Prepare(port, std::move(on_dialled));
  addresses_ = {address};
  Next();
}

void Dialer::Dial(const NetworkRules& rules, const HostName& name, std::uint16_t port,
                  OnDialled on_dialled) {
  Prepare(port, std::move(on_dialled));
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
    if (!on_dialled_) return;  // connected
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
  Next();  // at once: this attempt has failed
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

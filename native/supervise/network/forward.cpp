#include "supervise/network/forward.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "policy/network/host_check.h"
#include "protocol/report.h"
#include "supervise/network/connection.h"
#include "supervise/network/proxy.h"
#include "supervise/network/relay.h"

namespace native_runner {
namespace {

// Time from a client's connection to the sandbox's.
constexpr std::uint64_t kConnectMs = 10'000;
// A client that has sent nothing for so long is connected: a protocol whose server speaks first
// needs it. Until then nothing reaches the sandbox that may have to be refused.
constexpr std::uint64_t kSilenceMs = 20;
constexpr std::uint64_t kNeverMs = std::uint64_t{1} << 50U;
constexpr std::size_t kMostRead = HostCheck::kMostHead + (std::size_t{32} << 10U);
constexpr std::size_t kMostClosed = 1024;
constexpr int kForwardBacklog = 4096;  // also bounded by net.core.somaxconn

IpAddress SandboxLoopback(bool is_v6) {
  constexpr IpAddress::V6Bytes kV6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return is_v6 ? IpAddress::V6(kV6) : IpAddress::V4(INADDR_LOOPBACK);
}

// A connection takes two descriptors, so that half of the process's are left.
std::size_t MostForwarded() {
  constexpr rlim_t kForwardShare = 4;
  constexpr std::size_t kMost = 2048;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  return std::max<std::size_t>(
      16, std::min<std::size_t>(kMost, static_cast<std::size_t>(limit.rlim_cur / kForwardShare)));
}

}  // namespace

struct Forwards::Parts {
  Parts(uv_loop_t* on, ForwardSockets::HandOver hand_over)
      : loop(on), sockets(on, std::move(hand_over)), head_share(on, &options) {
    options.most_connections = MostForwarded();
    network.loop = on;
    network.options = &options;
    network.pipes = &pipes;
    network.head_share = &head_share;
  }

  uv_loop_t* loop;
  NetworkOptions options;
  PipePool pipes;
  ForwardSockets sockets;
  HeadShare head_share;
  NetworkParts network{};  // without what only a network by domain has
};

namespace {

// Also true if the other end has sent all that it had, and is gone.
bool IsConnected(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  return getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

// One client of a forward: its first bytes are checked, the sandbox is connected, and both are
// relayed.
class ForwardedConnection : public Connection {
 public:
  // All but `client` outlive this.
  ForwardedConnection(const NetworkParts* parts, Connections* connections, ForwardSockets* sockets,
                      ForwardRecord* record, SocketStream client)
      : Connection(parts, connections, uv_hrtime()),
        sockets_(sockets),
        record_(record),
        client_(std::move(client)),
        check_(record->host_port) {}
  ~ForwardedConnection() override { sockets_->Forget(waiting_); }

  void Start() override;
  void TimedOut() override;
  void Drain() override;

 private:
  enum class Heard { kNothing, kEnd, kError, kRefused, kPasses, kMore };
  Heard Hear(SocketStream* client);
  void HearClient();
  void Connect(bool is_v6);
  void Dial(bool is_v6, Descriptor socket);
  void LookAtDial(bool is_v6);
  void DialFailed(bool is_v6);
  void Fail();
  void RelayBoth();
  Relay::Passes Gate(SocketStream* client);
  void Changed();
  void Count();
  void Refuse(SocketStream client, unsigned status, const std::string& reason);

  ForwardSockets* sockets_;
  ForwardRecord* record_;
  SocketStream client_;
  SocketStream sandbox_;
  HostCheck check_;
  HostCheck::State state_ = HostCheck::State::kNeedsMore;
  bool is_connecting_ = false;
  bool is_over_ = false;
  std::uint64_t waiting_ = 0;
  Timer silence_;
  std::unique_ptr<Relay> relay_;
  std::uint64_t counted_out_ = 0;
  std::uint64_t counted_in_ = 0;
};

void ForwardedConnection::Start() {
  ++record_->connections;
  TimeOutIn(kConnectMs);
  client_.set_callback([this] { HearClient(); });
  HearClient();
}

// Reads what the client has sent, as far as it has to be checked.
ForwardedConnection::Heard ForwardedConnection::Hear(SocketStream* client) {
  const std::size_t before = client->input.size();
  switch (client->Read(kMostRead)) {
    case SocketStream::ReadState::kNothing:
      return Heard::kNothing;
    case SocketStream::ReadState::kError:
      return Heard::kError;
    case SocketStream::ReadState::kEnd:
      state_ = check_.End();
      return state_ == HostCheck::State::kRefused ? Heard::kRefused : Heard::kEnd;
    case SocketStream::ReadState::kSome:
      state_ = check_.Feed(std::string_view(client->input).substr(before));
      break;
  }
  if (state_ == HostCheck::State::kRefused) return Heard::kRefused;
  return state_ == HostCheck::State::kPasses ? Heard::kPasses : Heard::kMore;
}

void ForwardedConnection::HearClient() {
  if (state_ != HostCheck::State::kNeedsMore) return client_.Want(0);
  Heard heard = Heard::kMore;
  while (heard == Heard::kMore)
    heard = Hear(&client_);
  switch (heard) {
    case Heard::kError:
      is_over_ = true;
      client_.Reset();
      return End();
    case Heard::kRefused:
      return Refuse(std::move(client_), check_.status(), check_.reason());
    case Heard::kNothing:
      client_.Want(UV_READABLE);
      if (!is_connecting_ && !silence_.active()) {
        silence_.Start(parts().loop, kSilenceMs, 0, [this] {
          silence_.Stop();
          if (!check_.holds()) Connect(false);
        });
      }
      return;
    default:
      client_.Want(0);  // it waits in the kernel
      silence_.Stop();
      if (!is_connecting_) Connect(false);
  }
}

void ForwardedConnection::Connect(bool is_v6) {
  is_connecting_ = true;
  const std::uint64_t number =
      sockets_->Take(is_v6, [this, is_v6](Descriptor socket) { Dial(is_v6, std::move(socket)); });
  if (number != 0) waiting_ = number;
}

// The socket is of the sandbox's network namespace, and so are the addresses.
void ForwardedConnection::Dial(bool is_v6, Descriptor socket) {
  waiting_ = 0;
  if (is_over_) return;
  if (!socket.valid()) return DialFailed(is_v6);
  const SocketAddress address({.address = SandboxLoopback(is_v6), .port = record_->port});
  const int result = connect(socket.get(), address.get(), address.size);
  if (result != 0 && errno != EINPROGRESS) return DialFailed(is_v6);
  sandbox_ = SocketStream(std::move(socket));
  if (!sandbox_.Open(parts().loop)) return Fail();
  // A server of the loopback is connected by now, and may send and end before the loop turns.
  if (result == 0 || IsConnected(sandbox_.get())) return RelayBoth();
  sandbox_.set_callback([this, is_v6] { LookAtDial(is_v6); });
  sandbox_.Want(UV_WRITABLE);
}

void ForwardedConnection::LookAtDial(bool is_v6) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(sandbox_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) return RelayBoth();
  sandbox_.Close();
  DialFailed(is_v6);
}

void ForwardedConnection::DialFailed(bool is_v6) {
  if (!is_v6) return Connect(true);
  Fail();
}

void ForwardedConnection::Fail() {
  if (is_over_) return;
  is_over_ = true;
  ++record_->failed;
  sandbox_.Reset();
  client_.Reset();
  End();
}

void ForwardedConnection::RelayBoth() {
  silence_.Stop();
  SetNoDelay(sandbox_.get());
  const bool is_checked = state_ == HostCheck::State::kPasses;
  TimeOutIn(is_checked ? kNeverMs : parts().options->head_ms);
  std::string held;
  if (!is_checked && check_.holds()) held = std::exchange(client_.input, {});
  relay_ = std::make_unique<Relay>(parts().pipes, std::move(sandbox_), std::move(client_));
  if (!is_checked) {
    relay_->Hold(std::move(held), [this](SocketStream* client) { return Gate(client); });
  }
  relay_->Start([this] { Changed(); });
}

Relay::Passes ForwardedConnection::Gate(SocketStream* client) {
  if (state_ == HostCheck::State::kRefused) return Relay::Passes::kNothing;
  for (;;) {
    switch (Hear(client)) {
      case Heard::kNothing:
      case Heard::kRefused:
        return Relay::Passes::kNothing;
      case Heard::kMore:
        if (!check_.holds()) return Relay::Passes::kInput;
        break;
      default:
        TimeOutIn(kNeverMs);
        return Relay::Passes::kAll;  // the relay sees the end or the error itself
    }
  }
}

void ForwardedConnection::Changed() {
  if (is_over_) return;
  Count();
  if (state_ == HostCheck::State::kRefused)
    return Refuse(relay_->TakeHost(), check_.status(), check_.reason());
  if (!relay_->has_ended()) return;
  is_over_ = true;
  End();
}

void ForwardedConnection::Count() {
  record_->bytes_out += relay_->bytes_out() - std::exchange(counted_out_, relay_->bytes_out());
  record_->bytes_in += relay_->bytes_in() - std::exchange(counted_in_, relay_->bytes_in());
}

void ForwardedConnection::Refuse(SocketStream client, unsigned status, const std::string& reason) {
  is_over_ = true;
  silence_.Stop();
  ++record_->refused;
  client.output += HttpRefusal(status, "the request is refused: " + reason);
  sandbox_.Reset();
  Become(
      std::make_unique<LingeringClose>(&parts(), connections(), started_ns(), std::move(client)));
}

void ForwardedConnection::TimedOut() {
  constexpr unsigned kRequestTimeout = 408;
  constexpr char kLate[] = "its head did not come in time";
  if (is_over_) return;
  if (!relay_)
    return check_.holds() && !is_connecting_ ? Refuse(std::move(client_), kRequestTimeout, kLate)
                                             : Fail();
  if (check_.holds()) return Refuse(relay_->TakeHost(), kRequestTimeout, kLate);
  TimeOutIn(parts().options->head_ms);  // a client that has nothing to say yet
}

void ForwardedConnection::Drain() {
  if (is_over_) return;
  is_over_ = true;
  if (!relay_ && !IsConnected(sandbox_.get())) return client_.Reset();
  if (!relay_) {
    relay_ = std::make_unique<Relay>(parts().pipes, std::move(sandbox_), std::move(client_));
  }
  relay_->Drain();
  Count();
}

}  // namespace

class Forwards::Listener {
 public:
  Listener(Parts* parts, ForwardRecord record)
      : parts_(parts),
        record_(std::move(record)),
        connections_(parts->loop, &parts->options, [this] {
          if (acceptor_) acceptor_->Resume();
        }) {}

  const ForwardRecord& record() const { return record_; }

  // Returns 0, or an errno.
  int Open(const IpAddress& host);
  void Drain() {
    acceptor_.reset();
    connections_.Drain();
  }

 private:
  int Listen(const IpAddress& host, Descriptor* listener);

  Parts* parts_;
  ForwardRecord record_;
  Connections connections_;
  std::unique_ptr<Acceptor> acceptor_;
};

int Forwards::Listener::Listen(const IpAddress& host, Descriptor* listener) {
  const int family = host.is_v4() ? AF_INET : AF_INET6;
  Descriptor made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return errno;
  const int on = 1;
  // A port whose former connections still linger (TIME_WAIT) is free; one that is listened on is
  // not.
  static_cast<void>(setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  const SocketAddress address({.address = host, .port = record_.host_port});
  if (bind(made.get(), address.get(), address.size) != 0) return errno;
  if (listen(made.get(), kForwardBacklog) != 0) return errno;
  *listener = std::move(made);
  return 0;
}

int Forwards::Listener::Open(const IpAddress& host) {
  Descriptor listener;
  if (const int error = Listen(host, &listener); error != 0) return error;
  auto local = LocalEndpoint(listener.get());
  // A free port that is also the sandbox's would, with the host's network, lead to itself.
  if (record_.host_port == 0 && local && local->port == record_.port) {
    Descriptor other;
    if (const int error = Listen(host, &other); error != 0) return error;
    listener = std::move(other);
    local = LocalEndpoint(listener.get());
  }
  if (!local) return EBADF;
  record_.host_port = local->port;
  acceptor_ = std::make_unique<Acceptor>(
      std::move(listener), record_.host_port, &parts_->head_share,
      [this] { return connections_.has_room(); },
      [this](Descriptor accepted, bool may_serve) {
        if (!may_serve) return ResetConnection(std::move(accepted));
        SetNoDelay(accepted.get());
        SocketStream client(std::move(accepted));
        if (!client.Open(parts_->loop)) return client.Reset();
        connections_.Add(std::make_unique<ForwardedConnection>(
            &parts_->network, &connections_, &parts_->sockets, &record_, std::move(client)));
      });
  return acceptor_->Start(parts_->loop) ? 0 : EMFILE;
}

Forwards::Forwards(uv_loop_t* loop, ForwardSockets::HandOver hand_over)
    : parts_(std::make_unique<Parts>(loop, std::move(hand_over))) {}

Forwards::~Forwards() {
  open_.clear();
}

ForwardAnswer Forwards::Open(const ForwardRequest& request) {
  if (open_.size() >= kMostForwards) return {.state = ForwardState::kTooMany};
  auto listener =
      std::make_unique<Listener>(parts_.get(), ForwardRecord{.port = request.port,
                                                             .host = IpText(request.host),
                                                             .host_port = request.host_port});
  const int error = listener->Open(request.host);
  if (error == EADDRINUSE) return {.state = ForwardState::kPortTaken, .error = error};
  if (error != 0) return {.state = ForwardState::kFailed, .error = error};
  const std::uint16_t port = listener->record().host_port;
  open_.emplace(++last_, std::move(listener));
  return {.state = ForwardState::kOpen, .host_port = port, .number = last_};
}

void Forwards::Close(std::uint64_t number, bool drains) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  if (drains) found->second->Drain();
  closed_.emplace(number, found->second->record());
  open_.erase(found);
  if (closed_.size() > kMostClosed) closed_.erase(closed_.begin());
}

void Forwards::CloseAll() {
  while (!open_.empty())
    Close(open_.begin()->first, true);
}

Forwards::Mark Forwards::MarkNow() const {
  Mark mark{.last = last_, .open = {}};
  for (const auto& [number, listener] : open_)
    mark.open.emplace(number, listener->record());
  return mark;
}

std::vector<ForwardRecord> Forwards::Since(const Mark& mark) const {
  std::map<std::uint64_t, ForwardRecord> all = closed_;
  for (const auto& [number, listener] : open_)
    all.emplace(number, listener->record());
  std::vector<ForwardRecord> since;
  for (auto& [number, record] : all) {
    const auto before = mark.open.find(number);
    if (before == mark.open.end() && number <= mark.last) continue;
    if (before != mark.open.end()) {
      record.connections -= before->second.connections;
      record.refused -= before->second.refused;
      record.failed -= before->second.failed;
      record.bytes_out -= before->second.bytes_out;
      record.bytes_in -= before->second.bytes_in;
    }
    since.push_back(std::move(record));
  }
  return since;
}

namespace {

// With fewer left, more are asked for.
constexpr std::size_t kFewestSpare = 2;

}  // namespace

std::uint64_t ForwardSockets::Take(bool is_v6, OnSocket on_socket) {
  Family& family = Of(is_v6);
  if (!family.spare.empty() && family.waiting.empty()) {
    Descriptor socket = std::move(family.spare.back());
    family.spare.pop_back();
    if (family.spare.size() < kFewestSpare) Ask(is_v6);
    on_socket(std::move(socket));
    return 0;
  }
  if (!Open()) {
    on_socket(Descriptor());
    return 0;
  }
  const std::uint64_t number = ++next_;
  family.waiting.emplace(number, std::move(on_socket));
  Ask(is_v6);
  return number;
}

void ForwardSockets::Forget(std::uint64_t number) {
  v4_.waiting.erase(number);
  v6_.waiting.erase(number);
}

bool ForwardSockets::Open() {
  if (channel_.valid()) return true;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return false;
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  if (!hand_over_(theirs.get()) ||
      poll_.Start(loop_, ours.get(), UV_READABLE, [this] { Receive(); }) != 0) {
    return false;
  }
  channel_ = std::move(ours);
  return true;
}

// A question that can't be sent is one to a launcher that is gone: its end of file follows.
void ForwardSockets::Ask(bool is_v6) {
  Family& family = Of(is_v6);
  if (family.is_asked || !Open()) return;
  const char question = is_v6 ? kSocketsIpv6 : kSocketsIpv4;
  if (send(channel_.get(), &question, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) return;
  family.is_asked = true;
  asked_.push_back(is_v6);
}

void ForwardSockets::Receive() {
  while (channel_.valid() && ReceiveOne()) {
  }
}

// Returns false if nothing more has come.
bool ForwardSockets::ReceiveOne() {
  SocketsReply reply;
  iovec part = {.iov_base = &reply, .iov_len = sizeof reply};
  union {
    cmsghdr header;
    char bytes[CMSG_SPACE(kSocketsAtOnce * sizeof(int))];
  } space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &space;
  message.msg_controllen = sizeof space.bytes;
  const ssize_t got = recvmsg(channel_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  std::vector<Descriptor> sockets;
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0);
         at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + at, sizeof number);
      sockets.emplace_back(number);
    }
  }
  if (got != sizeof reply || asked_.empty()) {
    Lose();
    return false;
  }
  const bool is_v6 = asked_.front();
  asked_.erase(asked_.begin());
  Family& family = Of(is_v6);
  family.is_asked = false;
  for (Descriptor& socket : sockets)
    family.spare.push_back(std::move(socket));
  if (family.spare.empty()) {
    Fail(&family);
  } else {
    Serve(&family);
    if (!family.waiting.empty()) Ask(is_v6);
  }
  return true;
}

// A callback may take or forget others.
void ForwardSockets::Serve(Family* family) {
  while (!family->waiting.empty() && !family->spare.empty()) {
    const auto first = family->waiting.extract(family->waiting.begin());
    Descriptor socket = std::move(family->spare.back());
    family->spare.pop_back();
    first.mapped()(std::move(socket));
  }
}

// A callback may take or forget others; those that it takes are asked for anew.
void ForwardSockets::Fail(Family* family) {
  const std::uint64_t last = next_;
  while (!family->waiting.empty() && family->waiting.begin()->first <= last)
    family->waiting.extract(family->waiting.begin()).mapped()(Descriptor());
}

// The launcher has closed its end.
void ForwardSockets::Lose() {
  poll_.Stop();
  channel_.Close();
  asked_.clear();
  for (Family* family : {&v4_, &v6_}) {
    family->is_asked = false;
    Fail(family);
  }
}

}  // namespace native_runner

#include "supervise/network/tunnel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "supervise/network/http_conversation.h"
#include "supervise/network/proxy.h"

namespace native_runner {

Relayed::Relayed(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
                 SocketStream client, SocketStream host, std::unique_ptr<OpenRecord> record)
    : Connection(parts, connections, started_ns),
      record_(std::move(record)),
      before_out_(record_->record.bytes_out),
      before_in_(record_->record.bytes_in),
      relay_(parts->pipes, std::move(client), std::move(host)) {}

void Relayed::Start() {
  relay_.Start([this] { Changed(); });
}

void Relayed::TimedOut() {
  record_->record.reason = "nothing came for too long";
  relay_.Drain();
  Changed();
}

void Relayed::Drain() {
  relay_.Drain();
  Count();
  record_->End();
}

void Relayed::Changed() {
  Count();
  TimeOutIn(parts().options->idle_ms);
  if (!relay_.has_ended()) return;
  record_->End();
  End();
}

void Relayed::Count() {
  record_->record.bytes_out = before_out_ + relay_.bytes_out();
  record_->record.bytes_in = before_in_ + relay_.bytes_in();
}

namespace {

constexpr char kEstablished[] = "HTTP/1.1 200 Connection established\r\n\r\n";

std::span<const std::uint8_t> BytesFrom(const std::string& text, std::size_t at) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()) + at, text.size() - at};
}

void AddReply(std::string* output, SocksReply reply) {
  const auto bytes = EncodeSocksReply(reply);
  output->append(bytes.begin(), bytes.end());
}

}  // namespace

Tunnel::Tunnel(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
               SocketStream client, NamedHost host, std::uint16_t port, ConnectionVia via)
    : Connection(parts, connections, started_ns),
      client_(std::move(client)),
      host_(std::move(host)),
      port_(port),
      via_(via),
      dialer_(parts->loop, parts->resolver, parts->options) {}

Tunnel::~Tunnel() {
  if (question_ != 0) parts().admissions->Forget(question_);
}

void Tunnel::Start() {
  client_.Want(0);
  const std::uint64_t question =
      parts().admissions->Decide(host_, port_, via_, [this](Admission admission) {
        question_ = 0;
        Decided(std::move(admission));
      });
  if (question == 0) return;
  question_ = question;
  WaitForOthers();
}

// Watches the client only for its disconnect.
void Tunnel::WaitForOthers() {
  client_.set_callback([this] {
    if (client_.IsGone()) {
      Abandon("the client went before it was connected");
    } else {
      client_.Want(0);
    }
  });
  client_.Want(UV_DISCONNECT);
}

void Tunnel::Decided(Admission admission) {
  rule_ = std::move(admission.rule);
  if (!admission.allowed) {
    return Refuse(false, admission.reason, DialState::kNotPermitted);
  }
  is_admitted_ = true;
  if (!ends_tls() && parts().IsHttp(port_)) return SpeakHttp();
  if (is_transparent() && IsTls()) return BeginCheck();
  Dial();
}

void Tunnel::Dial() {
  WaitForOthers();
  dialer_.Dial(parts().policy->rules, std::get<HostName>(host_), port_,
               [this](Dialled dialled) { DialEnded(std::move(dialled)); });
}

void Tunnel::DialEnded(Dialled dialled) {
  address_ = dialled.address;
  if (dialled.state != DialState::kConnected) {
    return Refuse(dialled.state != DialState::kNotPermitted, dialled.fault, dialled.state);
  }
  host_stream_ = SocketStream(std::move(dialled.socket));
  if (!host_stream_.Open(parts().loop)) {
    return Refuse(true, "the host can't watch its socket", DialState::kFailed);
  }
  if (via_ == ConnectionVia::kConnect) client_.output += kEstablished;
  if (via_ == ConnectionVia::kSocks) AddReply(&client_.output, SocksReply::kSucceeded);
  has_replied_ = true;
  if (!client_.Flush() || !client_.output.empty()) {
    return Abandon("the client did not take the proxy's answer");
  }
  if (!is_transparent() && IsTls()) return BeginCheck();
  Proceed();
}

bool Tunnel::ends_tls() const {
  return parts().policy->EndsTls(std::get<HostName>(host_), port_);
}

bool Tunnel::IsTls() const {
  return ends_tls() || parts().IsTls(port_);
}

void Tunnel::BeginCheck() {
  is_checking_ = true;
  TimeOutIn(parts().options->head_ms);
  client_.set_callback([this] { Check(); });
  client_.Want(UV_READABLE);
  Check();
}

void Tunnel::Check() {
  const SocketStream::ReadState read = client_.Read(HelloReader::kMostStreamBytes);
  const HelloState state = hello_.Feed(BytesFrom(client_.input, checked_));
  checked_ = client_.input.size();
  switch (state) {
    case HelloState::kNeedsMore:
      if (read == SocketStream::ReadState::kEnd || read == SocketStream::ReadState::kError) {
        Abandon("it ended before a TLS ClientHello");
      } else if (checked_ >= HelloReader::kMostStreamBytes) {
        Refuse(false, "its TLS is malformed", DialState::kNotPermitted);
      }
      return;
    case HelloState::kNotTls:
      return Refuse(false, "it is not TLS", DialState::kNotPermitted);
    case HelloState::kMalformed:
      return Refuse(false, "its TLS is malformed", DialState::kNotPermitted);
    case HelloState::kHasNone:
      return Refuse(false, "its TLS names no server", DialState::kNotPermitted);
    case HelloState::kHasName:
      break;
  }
  const HostName& name = *hello_.hello().server_name;
  if (name != std::get<HostName>(host_)) {
    return Refuse(false, "its TLS names " + name.text(), DialState::kNotPermitted);
  }
  is_checking_ = false;
  TimeOutIn(parts().options->idle_ms);  // the dialer has its own deadline
  if (is_transparent()) return Dial();
  Proceed();
}

void Tunnel::Proceed() {
  if (ends_tls()) return EndTls();
  RelayTo(std::move(host_stream_));
}

// Puts the terminator between the command and the host: the command's bytes are relayed to it, so
// that they are counted, bounded and ended as all are.
void Tunnel::EndTls() {
  const std::uint64_t run = parts().recorder->terminator_run();
  auto ends = MakeTerminatorChannel();
  if (!ends || !LeavesDescriptors(ends->ours.get())) {
    return Refuse(true, "the host has no descriptors left", DialState::kFailed);
  }
  SocketStream towards(std::move(ends->ours));
  if (!towards.Open(parts().loop)) {
    return Refuse(true, "the host can't watch its socket", DialState::kFailed);
  }
  TerminatedConnection connection{.client = std::move(ends->theirs),
                                  .host = host_stream_.Release(),
                                  .run = run,
                                  .port = port_,
                                  .via = ConnectionViaName(via_),
                                  .name = std::get<HostName>(host_).text()};
  if (run == 0 || !HandToTerminator(parts().policy->termination->channel, std::move(connection))) {
    return Refuse(true, "nothing on the host ends its TLS", DialState::kFailed);
  }
  RelayTo(std::move(towards));
}

void Tunnel::RelayTo(SocketStream host) {
  is_over_ = true;
  auto record = parts().recorder->Opened(RecordOf(true, ""), started_ns());
  Become(std::make_unique<Relayed>(&parts(), connections(), started_ns(), std::move(client_),
                                   std::move(host), std::move(record)));
}

void Tunnel::SpeakHttp() {
  is_over_ = true;
  if (via_ == ConnectionVia::kConnect) client_.output += kEstablished;
  if (via_ == ConnectionVia::kSocks) AddReply(&client_.output, SocksReply::kSucceeded);
  Become(std::make_unique<HttpConversation>(
      &parts(), connections(), started_ns(), std::move(client_),
      HttpConversation::Fixed{
          .host = std::get<HostName>(host_), .port = port_, .via = via_, .rule = rule_}));
}

ConnectionRecord Tunnel::RecordOf(bool allowed, std::string reason) const {
  ConnectionRecord record;
  record.host = HostText(host_);
  record.port = port_;
  if (address_) record.address = IpText(*address_);
  record.allowed = allowed;
  record.rule = rule_;
  record.reason = std::move(reason);
  record.via = via_;
  return record;
}

void Tunnel::Refuse(bool allowed, const std::string& reason, DialState state) {
  if (is_over_) return;
  is_over_ = true;
  if (is_admitted_ && !allowed) rule_.clear();  // not denied by the rule
  parts().recorder->Refused(RecordOf(allowed, reason));
  host_stream_.Reset();
  dialer_.Stop();
  if (is_transparent() || has_replied_) {
    client_.Reset();
    return End();
  }
  if (via_ == ConnectionVia::kConnect) {
    client_.output += HttpRefusal(HttpStatusOf(state), RefusalText(host_, port_, reason));
  } else {
    AddReply(&client_.output, SocksReplyOf(state));
  }
  Become(
      std::make_unique<LingeringClose>(&parts(), connections(), started_ns(), std::move(client_)));
}

// Ends without a reply: the client is gone or unresponsive.
void Tunnel::Abandon(const std::string& reason) {
  if (is_over_) return;
  has_replied_ = true;
  Refuse(is_admitted_, reason, DialState::kFailed);
}

void Tunnel::TimedOut() {
  if (is_checking_) Abandon("its TLS ClientHello did not come in time");
}

void Tunnel::Drain() {
  if (is_over_) return;
  is_over_ = true;
  parts().recorder->Refused(RecordOf(is_admitted_, "the command ended before it was connected"));
  client_.Reset();
}

Result<TerminatorEnds> MakeTerminatorChannel() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return SystemError("socketpair", errno);
  }
  return TerminatorEnds{.ours = Descriptor(ends[0]), .theirs = Descriptor(ends[1])};
}

bool HandToTerminator(int channel, TerminatedConnection connection) {
  std::string line;
  for (const std::uint64_t number : {static_cast<std::uint64_t>(connection.client.get()),
                                     static_cast<std::uint64_t>(connection.host.get()),
                                     connection.run, static_cast<std::uint64_t>(connection.port)}) {
    line += std::to_string(number) + ' ';
  }
  line += connection.via;
  line += ' ';
  line += connection.name;
  line += '\n';
  // A stream socket takes such a short message whole or not at all.
  const ssize_t sent = send(channel, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(line.size())) return false;
  static_cast<void>(connection.client.Release());
  static_cast<void>(connection.host.Release());
  return true;
}

}  // namespace native_runner

#include "supervise/network/http_conversation.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "supervise/network/proxy.h"
#include "supervise/network/tunnel.h"

namespace native_runner {
namespace {

constexpr std::size_t kInputBytes = std::size_t{16} << 10U;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kProxyOwnPort = 3128;
constexpr unsigned kBadRequest = 400;
constexpr unsigned kForbidden = 403;
constexpr unsigned kTimeout = 408;
constexpr unsigned kMisdirected = 421;
constexpr unsigned kHeadTooLarge = 431;

}  // namespace

HttpConversation::HttpConversation(const NetworkParts* parts, Connections* connections,
                                   std::uint64_t started_ns, SocketStream client,
                                   std::optional<Fixed> fixed)
    : Connection(parts, connections, started_ns),
      client_(std::move(client)),
      fixed_(std::move(fixed)),
      request_started_ns_(started_ns),
      dialer_(parts->loop, parts->resolver, parts->options) {}

HttpConversation::~HttpConversation() {
  if (question_ != 0) parts().admissions->Forget(question_);
}

void HttpConversation::Start() {
  ExpectHead();
  ReadHead();
}

void HttpConversation::ExpectHead() {
  phase_ = Phase::kHead;
  head_ = HeadReader();
  has_begun_head_ = false;
  const NetworkOptions& options = *parts().options;
  TimeOutIn(host_.valid() ? options.idle_ms : options.head_ms);
  client_.set_callback([this] { ReadHead(); });
  if (host_.valid()) {
    host_.set_callback([this] { IdleHostSpoke(); });
    host_.Want(UV_READABLE);
  }
  client_.Want(UV_READABLE);
}

// Reads a pipelined request in another turn of the loop: a host may answer at once any number of
// requests that a client sends at once, and these must not block the loop.
void HttpConversation::ReadNextHead() {
  ExpectHead();
  if (!client_.input.empty()) ReadHeadNextTurn();
}

void HttpConversation::ReadHeadNextTurn() {
  turn_.Start(parts().loop, 0, 0, [this] {
    turn_.Stop();
    ReadHead();
  });
}

// An idle host that becomes readable has ended the connection.
void HttpConversation::IdleHostSpoke() {
  CloseHost();
  if (!fixed_ || has_begun_head_) return;
  phase_ = Phase::kOver;  // the client sees the same as without the relay
  client_.Close();
  End();
}

void HttpConversation::ReadHead() {
  if (phase_ != Phase::kHead) return;
  if (!client_.Flush()) return Abort("");
  while (head_.state() == HeadState::kNeedsMore) {
    const std::size_t share = parts().head_share->Left();
    if (share == 0) {
      // What is still in the kernel calls back in the next turn of the loop by itself.
      if (!client_.input.empty()) ReadHeadNextTurn();
      return;
    }
    if (client_.input.empty()) {
      const SocketStream::ReadState read = client_.Read(std::min(kInputBytes, share));
      if (read == SocketStream::ReadState::kNothing) {
        return client_.Want(UV_READABLE | (client_.output.empty() ? 0 : UV_WRITABLE));
      }
      if (read != SocketStream::ReadState::kSome) {
        return Abort(has_begun_head_ ? "it ended within the head of a request" : "");
      }
    }
    if (!std::exchange(has_begun_head_, true)) TimeOutIn(parts().options->head_ms);
    const std::size_t taken = head_.Feed(std::string_view(client_.input).substr(0, share));
    parts().head_share->Take(taken);
    client_.input.erase(0, taken);
  }
  if (head_.state() == HeadState::kTooLong) {
    return RefuseMalformed(kHeadTooLarge, "its head is too long");
  }
  if (head_.state() != HeadState::kComplete) {
    return RefuseMalformed(HttpFaultStatus(head_.fault()), HttpFaultText(head_.fault()));
  }
  Begin();
}

void HttpConversation::Begin() {
  phase_ = Phase::kWaiting;
  is_admitted_ = false;
  rule_.clear();
  address_.reset();                     // a kept connection's address is in its record already
  TimeOutIn(parts().options->idle_ms);  // other waits have their own deadlines
  if (host_.valid()) request_started_ns_ = uv_hrtime();
  request_ = std::move(head_.request());
  client_.set_callback([this] {
    if (client_.IsGone()) {
      Abort("the client went before it was connected");
    } else {
      client_.Want(0);
    }
  });
  client_.Want(UV_DISCONNECT);
  if (fixed_) {
    BeginFixed();
  } else {
    BeginProxied();
  }
}

std::uint16_t HttpConversation::AskedPort() const {
  return request_.port.value_or(kHttpPort);
}

void HttpConversation::BeginFixed() {
  if (request_.form == HttpForm::kAuthority) {
    return RefuseMalformed(kBadRequest, "CONNECT is for the proxy");
  }
  const HostName* name = std::get_if<HostName>(&request_.host);
  if (name == nullptr || *name != fixed_->host || AskedPort() != fixed_->port) {
    return Refuse(kMisdirected, false, "its connection is for " + fixed_->host.text());
  }
  Admitted(fixed_->rule);
}

void HttpConversation::BeginProxied() {
  if (request_.form == HttpForm::kAuthority) {
    CloseHost();
    phase_ = Phase::kOver;
    return Become(std::make_unique<Tunnel>(&parts(), connections(), request_started_ns_,
                                           std::move(client_), request_.host, AskedPort(),
                                           ConnectionVia::kConnect));
  }
  if (request_.form != HttpForm::kAbsolute) {
    return RefuseMalformed(kBadRequest, "this is a proxy: it needs a whole URL, or CONNECT");
  }
  // The kept connection was already decided; the asker is not asked for each of its requests.
  const HostName* name = std::get_if<HostName>(&request_.host);
  if (record_ != nullptr && name != nullptr && host_name_ == *name && host_port_ == AskedPort()) {
    return Admitted(record_->record.rule);
  }
  Decide();
}

void HttpConversation::Decide() {
  const std::uint64_t question =
      parts().admissions->Decide(request_.host, AskedPort(), via(), [this](Admission admission) {
        question_ = 0;
        rule_ = std::move(admission.rule);
        if (!admission.allowed) return Refuse(kForbidden, false, admission.reason);
        if (parts().IsTls(AskedPort())) return Refuse(kForbidden, false, "its port is for TLS");
        Admitted(rule_);
      });
  if (question != 0) question_ = question;
}

void HttpConversation::Admitted(std::string rule) {
  rule_ = std::move(rule);
  is_admitted_ = true;
  const HostName& name = std::get<HostName>(request_.host);
  is_reused_ = host_.valid() && host_name_ == name && host_port_ == AskedPort();
  if (is_reused_) return BeginExchange();
  CloseHost();
  host_name_ = name;
  host_port_ = AskedPort();
  dialer_.Dial(parts().policy->rules, name, host_port_,
               [this](Dialled dialled) { DialEnded(std::move(dialled)); });
}

void HttpConversation::DialEnded(Dialled dialled) {
  address_ = dialled.address;
  if (dialled.state != DialState::kConnected) {
    const bool allowed = dialled.state != DialState::kNotPermitted;
    return Refuse(HttpStatusOf(dialled.state), allowed, dialled.fault);
  }
  host_ = SocketStream(std::move(dialled.socket));
  if (!host_.Open(parts().loop)) {
    host_.Close();
    return Refuse(HttpStatusOf(DialState::kFailed), true, "the host can't watch its socket");
  }
  record_ = parts().recorder->Opened(RecordOf(true, ""), request_started_ns_);
  BeginExchange();
}

ConnectionRecord HttpConversation::RecordOf(bool allowed, std::string reason) const {
  ConnectionRecord record;
  record.host = HostText(request_.host);
  record.port = AskedPort();
  if (address_) record.address = IpText(*address_);
  record.allowed = allowed;
  record.rule = rule_;
  record.reason = std::move(reason);
  record.via = via();
  return record;
}

void HttpConversation::Refuse(unsigned status, bool allowed, const std::string& reason) {
  ConnectionRecord record = RecordOf(allowed, reason);
  if (is_admitted_ && !allowed) record.rule.clear();  // not denied by the rule
  parts().recorder->Refused(record);
  client_.output += HttpRefusal(status, RefusalText(request_.host, AskedPort(), reason));
  LingerAndClose();
}

// Records the connection's own host, as the request's host is unknown.
void HttpConversation::RefuseMalformed(unsigned status, const std::string& reason) {
  ConnectionRecord record;
  record.host = fixed_ ? fixed_->host.text() : "127.0.0.1";
  record.port = fixed_ ? fixed_->port : kProxyOwnPort;
  record.reason = reason;
  record.via = via();
  parts().recorder->Refused(record);
  client_.output += HttpRefusal(status, "the request is refused: " + reason);
  LingerAndClose();
}

void HttpConversation::LingerAndClose() {
  CloseHost();
  dialer_.Stop();
  phase_ = Phase::kOver;
  Become(
      std::make_unique<LingeringClose>(&parts(), connections(), started_ns(), std::move(client_)));
}

// Ends the connection without an answer. An empty reason means that there was no request.
void HttpConversation::Abort(const std::string& reason) {
  if (phase_ == Phase::kOver) return;
  if (record_ != nullptr) {
    if (record_->record.reason.empty()) record_->record.reason = reason;
  } else if (!reason.empty() && phase_ != Phase::kHead) {
    parts().recorder->Refused(RecordOf(is_admitted_, reason));
  }
  phase_ = Phase::kOver;
  if (question_ != 0) parts().admissions->Forget(std::exchange(question_, 0));
  dialer_.Stop();
  host_.Reset();
  CloseHost();
  if (reason.empty()) {
    client_.Close();
  } else {
    client_.Reset();
  }
  End();
}

void HttpConversation::CloseHost() {
  host_.Close();
  host_ = SocketStream();
  if (record_ != nullptr) record_->End();
  record_.reset();
  host_name_.reset();
  address_.reset();
  is_host_over_ = false;
  is_host_deaf_ = false;
}

void HttpConversation::TimedOut() {
  switch (phase_) {
    case Phase::kHead:
      if (has_begun_head_) return RefuseMalformed(kTimeout, "its head did not come in time");
      return Abort("");
    case Phase::kWaiting:
    case Phase::kExchange:
      return Abort("nothing came for too long");
    case Phase::kOver:
      return;
  }
}

void HttpConversation::CatchUp() {
  if (phase_ != Phase::kHead) return;
  turn_.Stop();
  ReadHead();
}

void HttpConversation::Drain() {
  if (phase_ == Phase::kExchange) {
    static_cast<void>(SendBody());
    static_cast<void>(host_.Flush());
  } else if (phase_ == Phase::kWaiting) {
    parts().recorder->Refused(RecordOf(is_admitted_, "the command ended before it was connected"));
  }
  phase_ = Phase::kOver;
  CloseHost();
}

// Answering one request.

namespace {

constexpr std::size_t kPieceBytes = std::size_t{16} << 10U;
constexpr int kExchangeTurns = 16;
constexpr unsigned kBadBody = 400;

}  // namespace

void HttpConversation::BeginExchange() {
  phase_ = Phase::kExchange;
  answered_ = 0;
  body_.emplace(request_);
  response_.emplace(request_);
  host_.output += ForwardedHead(request_, request_.closes);
  client_.set_callback([this] { Exchange(); });
  host_.set_callback([this] { Exchange(); });
  Exchange();
}

void HttpConversation::Exchange() {
  TimeOutIn(parts().options->idle_ms);
  bool moves = true;
  for (int turn = 0; turn < kExchangeTurns && moves && phase_ == Phase::kExchange; ++turn) {
    const std::uint64_t before = host_.sent() + client_.sent() + answered_;
    if (!SendBody()) return;
    if (!host_.Flush()) is_host_deaf_ = true;
    if (is_host_deaf_) host_.output.clear();
    record_->record.bytes_out = host_.sent();
    if (!TakeAnswer()) return;
    if (!client_.Flush()) return Abort("the client closed the connection");
    if (HasEnded()) return;
    moves = host_.sent() + client_.sent() + answered_ != before;
  }
  WantForExchange();
}

// Returns false if the conversation is over.
bool HttpConversation::SendBody() {
  while (body_->state() == BodyState::kNeedsMore && host_.output.size() < kPieceBytes &&
         !is_host_deaf_) {
    if (client_.input.empty()) {
      const SocketStream::ReadState read = client_.Read(kPieceBytes);
      if (read == SocketStream::ReadState::kNothing) break;
      if (read != SocketStream::ReadState::kSome) {
        Abort("the client ended within its request");
        return false;
      }
    }
    const std::size_t size = body_->Feed(client_.input);
    host_.output.append(client_.input, 0, size);
    client_.input.erase(0, size);
  }
  if (body_->state() != BodyState::kMalformed) return true;
  record_->record.reason = "the body of its request is malformed";
  host_.Reset();
  if (answered_ == 0) {
    client_.output += HttpRefusal(kBadBody, "the body of the request is malformed");
    LingerAndClose();
  } else {
    Abort("");
  }
  return false;
}

// Returns false if the conversation is over.
bool HttpConversation::TakeAnswer() {
  while (!is_host_over_ && client_.output.size() < kPieceBytes &&
         (response_->state() == ResponseState::kNeedsMore ||
          response_->state() == ResponseState::kUntilClose)) {
    if (host_.input.empty()) {
      const SocketStream::ReadState read = host_.Read(kPieceBytes);
      if (read == SocketStream::ReadState::kNothing) break;
      if (read == SocketStream::ReadState::kEnd) is_host_over_ = true;
      if (read == SocketStream::ReadState::kError) {
        is_host_over_ = true;
        // An answer that only the end of file delimits is incomplete after an error.
        if (response_->state() == ResponseState::kUntilClose) {
          AnswerBroke();
          return false;
        }
      }
      if (is_host_over_) break;
    }
    const std::size_t size = response_->Feed(host_.input);
    client_.output.append(host_.input, 0, size);
    host_.input.erase(0, size);
    answered_ += size;
    record_->record.bytes_in += size;
  }
  return true;
}

// Returns true if the answer is over and the conversation has moved on.
bool HttpConversation::HasEnded() {
  if (!client_.output.empty()) return false;
  switch (response_->state()) {
    case ResponseState::kUpgraded:
      Upgrade();
      return true;
    case ResponseState::kComplete:
      if (body_->state() == BodyState::kNeedsMore && !is_host_deaf_ && !is_host_over_) return false;
      AnswerEnded();
      return true;
    case ResponseState::kUntilClose:
      if (!is_host_over_) return false;
      LingerAndClose();
      return true;
    case ResponseState::kNeedsMore:
      if (!is_host_over_) return false;
      AnswerBroke();
      return true;
  }
  return false;
}

void HttpConversation::AnswerEnded() {
  const bool goes_on = body_->state() == BodyState::kComplete && !request_.closes &&
                       response_->keeps() && host_.input.empty() && !is_host_deaf_;
  if (goes_on) return ReadNextHead();
  LingerAndClose();
}

void HttpConversation::AnswerBroke() {
  record_->record.reason = "the host closed the connection without a whole answer";
  if (answered_ > 0 || is_reused_) {
    // The host has closed a kept connection meanwhile: the client retries, as it would without the
    // relay.
    return Abort("the host closed the connection without a whole answer");
  }
  client_.output += HttpRefusal(
      HttpStatusOf(DialState::kFailed),
      RefusalText(request_.host, AskedPort(), "it closed the connection without an answer"));
  LingerAndClose();
}

void HttpConversation::Upgrade() {
  phase_ = Phase::kOver;
  record_->record.bytes_out = host_.sent();
  Become(std::make_unique<Relayed>(&parts(), connections(), started_ns(), std::move(client_),
                                   std::move(host_), std::move(record_)));
}

void HttpConversation::WantForExchange() {
  const bool sends = body_->state() == BodyState::kNeedsMore && !is_host_deaf_ &&
                     host_.output.size() < kPieceBytes;
  client_.Want((sends ? UV_READABLE : 0) | (client_.output.empty() ? 0 : UV_WRITABLE));
  const bool reads = !is_host_over_ && response_->state() != ResponseState::kComplete &&
                     client_.output.size() < kPieceBytes;
  host_.Want((reads ? UV_READABLE : 0) | (host_.output.empty() ? 0 : UV_WRITABLE));
}

}  // namespace native_runner

#include "supervise/network/connection.h"

#include <utility>

#include "supervise/network/tunnel.h"

namespace native_runner {
namespace {

constexpr char kAsked[] = "onRequest";
// Open questions of one sandbox: without this limit, its command could use up the supervisor's
// limit, and the questions of other sandboxes would be denied.
constexpr std::size_t kMostQuestions = 32;

Admission AdmissionOf(NetworkAnswer answer) {
  switch (answer) {
    case NetworkAnswer::kAllow:
      return {.allowed = true, .rule = kAsked, .reason = ""};
    case NetworkAnswer::kDeny:
      return {.allowed = false, .rule = kAsked, .reason = "onRequest denied it"};
    case NetworkAnswer::kNone:
      break;
  }
  return {.allowed = false, .rule = kAsked, .reason = kNoAnswer};
}

}  // namespace

Admissions::~Admissions() {
  for (const auto& [key, open] : open_)
    questions_->Withdraw(open.question);
}

// Returns why a connection without TLS to a host whose TLS ends here is refused; nullptr: it is
// not.
const char* Admissions::PlainFault(const NamedHost& host, std::uint16_t port,
                                   ConnectionVia via) const {
  const auto* const name = std::get_if<HostName>(&host);
  if (name == nullptr || !policy_->termination) return nullptr;
  const TlsTermination& termination = *policy_->termination;
  const bool is_plain = via == ConnectionVia::kHttp && termination.Covers(*name, port);
  return is_plain || termination.RefusesPlain(*name, port)
             ? "there are secrets or rules for its requests, which take https"
             : nullptr;
}

std::uint64_t Admissions::Decide(const NamedHost& host, std::uint16_t port, ConnectionVia via,
                                 OnDecided on_decided) {
  Decision decision = DecideConnection(policy_->rules, host, port);
  if (decision.verdict != Verdict::kDenied) {
    if (const char* const fault = PlainFault(host, port, via)) {
      on_decided({.allowed = false, .rule = "", .reason = fault});
      return 0;
    }
  }
  const bool can_ask = policy_->rules.asks && policy_->asker != 0 && questions_ != nullptr;
  if (decision.verdict != Verdict::kUndecided || !can_ask) {
    const bool allowed = decision.verdict == Verdict::kAllowed;
    on_decided({.allowed = allowed,
                .rule = std::move(decision.rule),
                .reason = allowed ? "" : VerdictReasonText(decision.reason)});
    return 0;
  }
  const std::string key = HostText(host) + ":" + std::to_string(port);
  if (open_.size() >= kMostQuestions && !open_.contains(key)) {
    on_decided({.allowed = false, .rule = kAsked, .reason = "too many questions are open"});
    return 0;
  }
  const std::uint64_t number = ++next_;
  const auto [place, is_new] = open_.try_emplace(key);
  place->second.waiting.emplace(number, std::move(on_decided));
  if (is_new) {
    NetworkQuestion question = {
        .host = HostText(host), .port = port, .via = via, .argv = recorder_->argv()};
    place->second.question =
        questions_->Ask(policy_->asker, std::move(question),
                        [this, key](NetworkAnswer answer) { Answered(key, answer); });
  }
  return number;
}

void Admissions::Forget(std::uint64_t number) {
  for (auto open = open_.begin(); open != open_.end(); ++open) {
    if (open->second.waiting.erase(number) == 0) continue;
    if (open->second.waiting.empty()) {
      questions_->Withdraw(open->second.question);
      open_.erase(open);
    }
    return;
  }
}

void Admissions::Answered(const std::string& key, NetworkAnswer answer) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  auto open = open_.extract(found);
  // A callback may Forget another callback of the same question. The entry is already extracted
  // here, so Forget finds nothing.
  for (auto& [number, on_decided] : open.mapped().waiting)
    on_decided(AdmissionOf(answer));
}

std::size_t HeadShare::Left() {
  uv_metrics_t metrics{};
  uv_metrics_info(loop_, &metrics);
  if (std::exchange(turn_, metrics.loop_count) != metrics.loop_count) {
    left_ = options_->head_share_bytes;
  }
  return left_;
}

void HeadShare::Lift() {
  static_cast<void>(Left());
  left_ = SIZE_MAX;
}

void Connection::End() {
  connections_->End(number_);
}

void Connection::Become(std::unique_ptr<Connection> next) {
  connections_->Replace(number_, std::move(next));
}

void Connections::Add(std::unique_ptr<Connection> connection) {
  const std::uint64_t number = ++next_;
  connections_.emplace(number, nullptr);
  Replace(number, std::move(connection));
  if (!connections_.empty() && !sweep_.active()) {
    sweep_.Start(loop_, options_->sweep_ms, options_->sweep_ms, [this] { Sweep(); });
  }
}

void Connections::Replace(std::uint64_t number, std::unique_ptr<Connection> next) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  if (found->second) Bury(std::move(found->second));
  found->second = std::move(next);
  Connection* begun = found->second.get();
  begun->number_ = number;
  begun->Start();
}

void Connections::End(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  Bury(std::move(found->second));
  connections_.erase(found);
  if (connections_.empty()) sweep_.Stop();
  on_room_();
}

void Connections::Bury(std::unique_ptr<Connection> ended) {
  ended_.push_back(std::move(ended));
  if (!burial_.active()) {
    burial_.Start(loop_, 0, 0, [this] {
      burial_.Stop();
      const auto buried = std::exchange(ended_, {});
    });
  }
}

void Connections::CatchUp() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, _] : connections_)
    numbers.push_back(number);
  for (const std::uint64_t number : numbers) {
    const auto found = connections_.find(number);
    if (found != connections_.end()) found->second->CatchUp();
  }
}

void Connections::Drain() {
  while (!connections_.empty()) {
    // No connection is on the call stack here, so they can be destroyed at once.
    const std::unique_ptr<Connection> last = std::move(connections_.begin()->second);
    connections_.erase(connections_.begin());
    last->Drain();
  }
  ended_.clear();
  burial_.Stop();
  sweep_.Stop();
  on_room_();
}

void Connections::Sweep() {
  const std::uint64_t now = uv_now(loop_);
  std::vector<std::uint64_t> late;
  for (const auto& [number, connection] : connections_) {
    if (connection->deadline_ms() <= now) late.push_back(number);
  }
  for (const std::uint64_t number : late) {
    const auto found = connections_.find(number);
    if (found != connections_.end()) found->second->TimedOut();
  }
}

namespace {

constexpr int kTurns = 16;

}  // namespace

void LingeringClose::Start() {
  TimeOutIn(parts().options->head_ms);
  client_.set_callback([this] { Step(); });
  Step();
}

void LingeringClose::Step() {
  if (!client_.Flush()) return Over();
  if (client_.output.empty() && !is_shut_) {
    is_shut_ = true;
    client_.ShutWrite();
  }
  // A socket that still has bytes calls back in the next turn of the loop.
  for (int turn = 0; turn < kTurns && parts().head_share->Left() > 0; ++turn) {
    parts().head_share->Take(HeadShare::kDrop);
    const SocketStream::ReadState state = client_.Discard();
    if (state == SocketStream::ReadState::kNothing) break;
    if (state == SocketStream::ReadState::kError) return Over();
    if (state != SocketStream::ReadState::kEnd) continue;
    if (is_shut_) return Over();
    client_.Want(UV_WRITABLE);  // the client sends no more, but still reads
    return;
  }
  client_.Want(UV_READABLE | (client_.output.empty() ? 0 : UV_WRITABLE));
}

void LingeringClose::Over() {
  client_.Close();
  End();
}

namespace {

// True if the socket is connected to itself, which the kernel does where nothing listens at a port
// that it has just given the socket as its own.
bool IsConnectedToItself(int socket, const HostPort& target) {
  const auto local = LocalEndpoint(socket);
  return local && local->address == target.address && local->port == target.port;
}

}  // namespace

void HostPortConnection::Start() {
  client_.set_callback([this] { Looked(); });
  client_.Want(UV_DISCONNECT);
  dialer_.DialAddress(entry_->address, entry_->port,
                      [this](Dialled dialled) { DialEnded(std::move(dialled)); });
}

// A client that sends no more may still read: only one that is gone ends the attempt.
void HostPortConnection::Looked() {
  if (client_.IsGone()) return Fail("the client went before it was connected");
  client_.Want(0);
}

void HostPortConnection::DialEnded(Dialled dialled) {
  if (dialled.state != DialState::kConnected) return Fail(dialled.fault);
  if (IsConnectedToItself(dialled.socket.get(), *entry_)) {
    return Fail("it can't be connected to: nothing listens there");
  }
  SocketStream host(std::move(dialled.socket));
  if (!host.Open(parts().loop)) return Fail("the host can't watch its socket");
  is_over_ = true;
  auto record = parts().recorder->Opened(RecordOf(""), started_ns());
  Become(std::make_unique<Relayed>(&parts(), connections(), started_ns(), std::move(client_),
                                   std::move(host), std::move(record)));
}

ConnectionRecord HostPortConnection::RecordOf(std::string reason) const {
  ConnectionRecord record;
  record.host = IpText(entry_->address);
  record.port = entry_->port;
  record.address = record.host;
  record.allowed = true;
  record.rule = entry_->text();
  record.reason = std::move(reason);
  record.via = ConnectionVia::kHostPort;
  return record;
}

void HostPortConnection::Fail(const std::string& reason) {
  if (is_over_) return;
  is_over_ = true;
  parts().recorder->Refused(RecordOf(reason));
  dialer_.Stop();
  client_.Reset();
  End();
}

void HostPortConnection::Drain() {
  if (is_over_) return;
  is_over_ = true;
  parts().recorder->Refused(RecordOf("the command ended before it was connected"));
  client_.Reset();
}

}  // namespace native_runner

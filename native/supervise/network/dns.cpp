#include "supervise/network/dns.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "policy/network/network_rules.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

// Synthetic addresses are never reassigned to another name; but a policy may change between runs of
// programs that keep answers.
constexpr std::uint32_t kTtlSeconds = 60;
constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr IpAddress::V6Bytes kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

DnsAnswer NoSuchName() {
  return {.code = DnsCode::kNameError, .addresses = {}, .ttl_seconds = 0};
}

// RFC 6761 6.3: always the sandbox's loopback.
bool IsLocalhost(const std::string& name) {
  return name == "localhost" || name.ends_with(".localhost");
}

// Reverse look-ups (the name of an address): programs ask them for the addresses they get.
bool IsOfLoopback(const std::string& name) {
  return name.ends_with(".127.in-addr.arpa") || name.ends_with(".b.5.d.f.ip6.arpa");
}

}  // namespace

std::optional<std::vector<std::uint8_t>> DnsResponder::Answer(std::span<const std::uint8_t> message,
                                                              DnsTransport transport) {
  const auto query = DecodeDnsQuery(message);
  if (!query) return std::nullopt;
  const DnsAnswer answer = query->code == DnsCode::kNoError ? AnswerTo(*query) : DnsAnswer{};
  return EncodeDnsAnswer(*query, message, answer, transport);
}

DnsAnswer DnsResponder::AnswerTo(const DnsQuery& query) {
  const auto name = ParseHostName(query.name);
  if (name) return AnswerTo(query, name.value());
  return Refuse(QuotedShort(query.name), "",
                std::string("it is no host name: ") + HostFaultText(name.error()));
}

DnsAnswer DnsResponder::AnswerTo(const DnsQuery& query, const HostName& name) {
  const Decision decision = DecideName(policy_->rules, name);
  const bool may_ask = decision.verdict == Verdict::kUndecided && policy_->rules.asks;
  DnsAnswer answer{.code = DnsCode::kNoError, .addresses = {}, .ttl_seconds = kTtlSeconds};
  if (decision.verdict != Verdict::kAllowed && IsLocalhost(name.text())) {
    answer.addresses = {IpAddress::V4(kLoopback), IpAddress::V6(kLoopback6)};
    return answer;
  }
  if (IsOfLoopback(name.text())) return NoSuchName();
  if (decision.verdict != Verdict::kAllowed && !may_ask) {
    return Refuse(name.text(), decision.rule, VerdictReasonText(decision.reason));
  }
  if (!recorder_->has_commands()) return NoSuchName();
  if (query.type != kDnsTypeA && query.type != kDnsTypeAaaa) return answer;
  const auto pair = names_->Assign(name);
  if (!pair) {
    answer = Refuse(name.text(), "", "too many names were asked for");
    answer.code = DnsCode::kServerFailure;
    return answer;
  }
  answer.addresses = {pair->v4};
  if (has_v6_) answer.addresses.push_back(pair->v6);
  return answer;
}

DnsAnswer DnsResponder::Refuse(std::string host, std::string rule, std::string reason) {
  ConnectionRecord record;
  record.host = std::move(host);
  record.rule = std::move(rule);
  record.reason = std::move(reason);
  recorder_->Refused(record);
  return NoSuchName();
}

namespace {

constexpr int kBatch = 64;  // per wake-up, so that questions cannot starve connections
constexpr std::size_t kMostQuestionBytes = 4096;

}  // namespace

bool DnsSocket::Start(uv_loop_t* loop) {
  if (!watch_.Open(loop, socket_.get())) return false;
  watch_.set_callback([this] { AnswerSome(); });
  watch_.Want(UV_READABLE);
  return true;
}

bool DnsSocket::AnswerSome() {
  std::array<std::uint8_t, kMostQuestionBytes> message{};
  for (int count = 0; count < kBatch; ++count) {
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    auto* address = reinterpret_cast<sockaddr*>(&peer);
    const ssize_t size = recvfrom(socket_.get(), message.data(), message.size(),
                                  MSG_DONTWAIT | MSG_TRUNC, address, &peer_size);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (size < 0 || static_cast<std::size_t>(size) > message.size()) continue;
    const auto answer =
        responder_->Answer({message.data(), static_cast<std::size_t>(size)}, DnsTransport::kUdp);
    if (!answer) continue;
    static_cast<void>(sendto(socket_.get(), answer->data(), answer->size(),
                             MSG_DONTWAIT | MSG_NOSIGNAL, address, peer_size));
  }
  return true;
}

namespace {

constexpr std::size_t kMostStreamInput = 2 + 0xffff;  // one question of any length
constexpr std::size_t kMostWaiting = std::size_t{64} << 10U;
constexpr int kQuestions = 64;  // per wake-up

}  // namespace

void DnsStream::Start() {
  TimeOutIn(parts().options->head_ms);
  client_.set_callback([this] { Step(); });
  Step();
}

void DnsStream::Step() {
  const SocketStream::ReadState read = client_.Read(kMostStreamInput);
  if (read == SocketStream::ReadState::kError) return Over();
  bool is_more = true;
  for (int count = 0; count < kQuestions && client_.output.size() < kMostWaiting; ++count) {
    const std::span<const std::uint8_t> input(
        reinterpret_cast<const std::uint8_t*>(client_.input.data()), client_.input.size());
    const auto message = FirstDnsMessage(input);
    is_more = message.has_value();
    if (!is_more) break;
    const auto answer = responder_->Answer(*message, DnsTransport::kTcp);
    const std::size_t size = message->size() + 2;
    client_.input.erase(0, size);
    if (answer) client_.output.append(answer->begin(), answer->end());
    TimeOutIn(parts().options->head_ms);
  }
  if (!client_.Flush()) return Over();
  if (read == SocketStream::ReadState::kEnd && client_.output.empty() && !is_more) return Over();
  // Questions already read need no more bytes, only another turn.
  const bool writes = !client_.output.empty() || is_more;
  const bool reads = client_.output.size() < kMostWaiting && read != SocketStream::ReadState::kEnd;
  client_.Want((reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0));
}

void DnsStream::Over() {
  client_.Close();
  End();
}

}  // namespace native_runner

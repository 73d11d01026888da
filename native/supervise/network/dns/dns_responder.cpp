#include "supervise/network/dns/dns_responder.h"

#include <string>
#include <utility>

#include "policy/network/rules/decision.h"
#include "policy/text/quote.h"

namespace native_runner {
namespace {

// Synthetic addresses never go to another name; but a policy may change between runs of programs
// that keep answers.
constexpr std::uint32_t kTtlSeconds = 60;
constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr IpAddress::V6Bytes kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

DnsAnswer NoSuchName() {
  return {.code = DnsCode::kNameError, .addresses = {}, .ttl_seconds = 0};
}

// RFC 6761 6.3: always the loopback, of the sandbox.
bool IsLocalhost(const std::string& name) {
  return name == "localhost" || name.ends_with(".localhost");
}

// Whose name an address has: programs ask it of the addresses that they are given.
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

}  // namespace native_runner

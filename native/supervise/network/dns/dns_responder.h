#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/network/dns/dns_answer.h"
#include "policy/network/rules/network_policy.h"
#include "policy/network/synthetic/synthetic_addresses.h"
#include "supervise/network/record/recorder.h"

namespace native_runner {

// Answers a sandbox's DNS questions out of the rules: a name that could be allowed has the
// synthetic addresses that lead to the relay, any other is not there, and is recorded. No question
// leaves the host: what is allowed is resolved when it is connected to. Supervisor thread only.
class DnsResponder {
 public:
  // All of them outlive it. `has_v6`: the sandbox has listeners that IPv6 reaches.
  DnsResponder(const NetworkPolicy* policy, SyntheticAddresses* names, Recorder* recorder,
               bool has_v6)
      : policy_(policy), names_(names), recorder_(recorder), has_v6_(has_v6) {}

  // nullopt: no answer at all.
  std::optional<std::vector<std::uint8_t>> Answer(std::span<const std::uint8_t> message,
                                                  DnsTransport transport);

 private:
  DnsAnswer AnswerTo(const DnsQuery& query);
  DnsAnswer AnswerTo(const DnsQuery& query, const HostName& name);
  DnsAnswer Refuse(std::string host, std::string rule, std::string reason);

  const NetworkPolicy* policy_;
  SyntheticAddresses* names_;
  Recorder* recorder_;
  bool has_v6_;
};

}  // namespace native_runner

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/network/address/ip_address.h"
#include "policy/network/dns/dns_query.h"

namespace native_runner {

// What a name leads to. kNoError without an address of the type that was asked for is "no data":
// the name is there, the type is not.
struct DnsAnswer {
  DnsCode code = DnsCode::kNoError;
  std::vector<IpAddress> addresses;
  std::uint32_t ttl_seconds = 0;
};

enum class DnsTransport { kUdp, kTcp };

// What is sent by UDP at most, whatever the client takes (the recommendation of DNS flag day 2020).
inline constexpr std::size_t kMostUdpAnswer = 1232;

// The answer to `query`, which was decoded from `message`; behind its length for kTcp. Of the
// addresses those of the asked type are sent; where they don't fit into what the client takes none
// is, and TC tells it to ask by TCP. A query that has a code of its own gets that. Pure.
std::vector<std::uint8_t> EncodeDnsAnswer(const DnsQuery& query,
                                          std::span<const std::uint8_t> message,
                                          const DnsAnswer& answer, DnsTransport transport);

}  // namespace native_runner

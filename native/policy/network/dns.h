#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/network/host_name.h"
#include "policy/network/ip_address.h"

namespace native_runner {

// RFC 1035 4.1.1, RFC 6891 9.
enum class DnsCode : std::uint8_t {
  kNoError = 0,
  kFormatError = 1,
  kServerFailure = 2,
  kNameError = 3,  // NXDOMAIN
  kNotImplemented = 4,
  kRefused = 5,
  kBadVersion = 16,
};

inline constexpr std::uint16_t kDnsTypeA = 1;
inline constexpr std::uint16_t kDnsTypeAaaa = 28;

// What a client asks a resolver. Where `code` is not kNoError, the answer is that code, whatever
// the name.
struct DnsQuery {
  DnsCode code = DnsCode::kNoError;
  std::uint16_t id = 0;
  std::uint8_t opcode = 0;
  bool recursion_desired = false;
  bool checking_disabled = false;
  // As it is written down (RFC 1035 5.1): "example.com", "." for the root; a dot or backslash in a
  // label behind a backslash, what is not printable as \DDD. So a label with a dot in it is no host
  // name. In the case that was sent.
  std::string name;
  std::uint16_t type = 0;
  // Where the question ends in the message; 0 where none could be read. An answer repeats its
  // bytes.
  std::size_t question_end = 0;
  // What the client takes by UDP, if it speaks EDNS (RFC 6891).
  std::optional<std::uint16_t> edns_bytes;
};

// Reads one message. nullopt for what gets no answer at all: less than a header, or an answer.
// Exactly one question of class IN, whose name has no compression pointer (there is nothing before
// it to point to), no answers or authorities, at most four additional records (one of them an OPT),
// nothing behind them. Bounded: nothing is followed, so nothing can loop. Pure.
std::optional<DnsQuery> DecodeDnsQuery(std::span<const std::uint8_t> message);

// The first message of a TCP stream, behind its length in two bytes (RFC 1035 4.2.2); nullopt until
// it is there whole. It takes 2 bytes more than the message off the stream.
std::optional<std::span<const std::uint8_t>> FirstDnsMessage(std::span<const std::uint8_t> stream);

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

// The addresses that names have inside one sandbox: a connection to one says which name was meant.
// 127.1.0.1, 127.1.0.2 … and the same numbers in a unique-local prefix of IPv6 (RFC 4193), in the
// order in which names are asked for; so the same questions give the same addresses. For one
// thread.
//
// An address never goes to another name: programs keep what they resolved for as long as they like,
// and would reach a host that they did not ask for. So the number of names is bounded, and who asks
// for one more gets none. Names that are known beforehand have theirs from the beginning, and can't
// be crowded out by names below a wildcard.
class SyntheticAddresses {
 public:
  static constexpr std::size_t kMostNames = 4096;

  struct Pair {
    IpAddress v4;
    IpAddress v6;
  };

  explicit SyntheticAddresses(std::span<const HostName> known = {}, std::size_t most = kMostNames);
  SyntheticAddresses(SyntheticAddresses&&) = default;
  SyntheticAddresses& operator=(SyntheticAddresses&&) = default;

  // Those of `name`, given now if it has none; nullopt when there are no more.
  std::optional<Pair> Assign(const HostName& name);
  // Whose address it is, for either of a pair; nullptr for nobody's. Valid as long as this lives.
  const HostName* NameOf(const IpAddress& address) const;
  std::size_t size() const { return names_.size(); }

  // The blocks they are of: what has to lead to the sandbox's own loopback.
  static Cidr V4Block();
  static Cidr V6Block();

 private:
  std::map<HostName, std::uint32_t> numbers_;  // from 1 on
  std::vector<const HostName*> names_;         // by number - 1; keys of the map
  std::size_t most_;
};

}  // namespace native_runner

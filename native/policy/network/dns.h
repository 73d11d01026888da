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

// Response codes: RFC 1035 4.1.1, RFC 6891 9.
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

// A client's query to a resolver. If `code` is not kNoError, the answer is that code, whatever the
// name.
struct DnsQuery {
  DnsCode code = DnsCode::kNoError;
  std::uint16_t id = 0;
  std::uint8_t opcode = 0;
  bool recursion_desired = false;
  bool checking_disabled = false;
  // The name in its text form (RFC 1035 5.1), in the case that was sent: "example.com", "." for the
  // root; a backslash before a dot or backslash in a label, unprintable bytes as \DDD. So a label
  // with a dot in it is not a host name.
  std::string name;
  std::uint16_t type = 0;
  // Where the question ends in the message; 0 if none could be read. An answer repeats its bytes.
  std::size_t question_end = 0;
  // The largest UDP answer that the client takes, if it uses EDNS (RFC 6891).
  std::optional<std::uint16_t> edns_bytes;
};

// Reads one message. Returns nullopt for a message that gets no answer: one shorter than a header,
// or an answer. Accepts exactly one question of class IN whose name has no compression pointer
// (nothing comes before it to point to), no answers or authorities, at most four additional records
// (one of them an OPT) and nothing after them. Follows no pointer, so it can't loop. Pure.
std::optional<DnsQuery> DecodeDnsQuery(std::span<const std::uint8_t> message);

// Returns the first message of a TCP stream, after its length in two bytes (RFC 1035 4.2.2);
// nullopt until it is complete. It takes 2 bytes more than the message off the stream.
std::optional<std::span<const std::uint8_t>> FirstDnsMessage(std::span<const std::uint8_t> stream);

// The addresses of a name. kNoError without an address of the asked type means "no data": the name
// exists, the type does not.
struct DnsAnswer {
  DnsCode code = DnsCode::kNoError;
  std::vector<IpAddress> addresses;
  std::uint32_t ttl_seconds = 0;
};

enum class DnsTransport { kUdp, kTcp };

// The largest UDP answer, whatever the client takes (the recommendation of DNS flag day 2020).
inline constexpr std::size_t kMostUdpAnswer = 1232;

// Returns the answer to `query`, which was decoded from `message`; with its length in front for
// kTcp. Includes the addresses of the asked type. If they don't fit into what the client takes,
// includes none and sets TC, so that the client asks by TCP. A query with a code of its own gets
// that code. Pure.
std::vector<std::uint8_t> EncodeDnsAnswer(const DnsQuery& query,
                                          std::span<const std::uint8_t> message,
                                          const DnsAnswer& answer, DnsTransport transport);

// The addresses that names have inside one sandbox. A connection to one identifies the name. Names
// get 127.1.0.1, 127.1.0.2 … and the same numbers in a unique-local prefix of IPv6 (RFC 4193), in
// the order in which they are asked for, so the same questions give the same addresses. For one
// thread.
//
// An address never passes to another name: programs keep resolved addresses as long as they like
// and would reach a host that they did not ask for. So the number of names is bounded, and a
// further name gets no address. Names known beforehand get theirs at the start, so names below a
// wildcard can't crowd them out.
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

  // Returns the addresses of `name`, assigning them if needed; nullopt if none are left.
  std::optional<Pair> Assign(const HostName& name);
  // Returns the name that has this address, for either of a pair; nullptr if no name has it. Valid
  // for the lifetime of this object.
  const HostName* NameOf(const IpAddress& address) const;
  std::size_t size() const { return names_.size(); }

  // The blocks of these addresses, which must lead to the sandbox's own loopback.
  static Cidr V4Block();
  static Cidr V6Block();

 private:
  std::map<HostName, std::uint32_t> numbers_;  // from 1 on
  std::vector<const HostName*> names_;         // indexed by number - 1; keys of the map
  std::size_t most_;
};

}  // namespace native_runner

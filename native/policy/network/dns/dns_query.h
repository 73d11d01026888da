#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

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

}  // namespace native_runner

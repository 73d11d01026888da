#include "policy/network/dns/dns_query.h"

#include <array>
#include <utility>

#include "policy/network/wire/byte_reader.h"

namespace native_runner {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kMostNameBytes = 255;  // RFC 1035 2.3.4, with lengths and the root
constexpr std::uint32_t kMostAdditional = 4;
constexpr std::uint32_t kResponse = 0x8000;
constexpr std::uint32_t kTruncated = 0x0200;
constexpr std::uint32_t kRecursionDesired = 0x0100;
constexpr std::uint32_t kCheckingDisabled = 0x0010;
constexpr std::uint32_t kClassIn = 1;
constexpr std::uint32_t kTypeOpt = 41;
constexpr std::uint32_t kTypeIxfr = 251;
constexpr std::uint32_t kTypeMailA = 254;  // with AXFR (252) and MAILB (253) between
constexpr std::uint8_t kLabelKind = 0xc0;  // 00: a label, 11: a pointer, else nothing
constexpr std::uint8_t kPointer = 0xc0;

void AppendLabel(std::string* name, std::span<const std::uint8_t> label) {
  if (!name->empty()) *name += '.';
  for (const std::uint8_t byte : label) {
    if (byte == '.' || byte == '\\') {
      *name += '\\';
    } else if (byte <= ' ' || byte >= 0x7f) {
      const std::string digits = std::to_string(byte);
      *name += '\\' + std::string(3 - digits.size(), '0') + digits;
      continue;
    }
    *name += static_cast<char>(byte);
  }
}

// A name of labels only, as text; false for any other.
bool ReadName(ByteReader* reader, std::string* name) {
  const std::size_t before = reader->rest().size();
  while (const auto length = reader->Number(1)) {
    if ((*length & kLabelKind) != 0) return false;
    const auto label = reader->Bytes(*length);
    if (!label || before - reader->rest().size() > kMostNameBytes) return false;
    if (label->empty()) {
      if (name->empty()) name->push_back('.');
      return true;
    }
    AppendLabel(name, *label);
  }
  return false;
}

// Where a name of a record ends is all that is asked: a pointer is its end, wherever it leads.
bool SkipName(ByteReader* reader) {
  const std::size_t before = reader->rest().size();
  while (const auto length = reader->Number(1)) {
    if ((*length & kLabelKind) == kPointer) return reader->Number(1).has_value();
    if ((*length & kLabelKind) != 0 || !reader->Bytes(*length)) return false;
    if (before - reader->rest().size() > kMostNameBytes) return false;
    if (*length == 0) return true;
  }
  return false;
}

DnsCode ReadAdditional(ByteReader* reader, DnsQuery* query) {
  const bool is_root = !reader->empty() && reader->rest().front() == 0;
  if (!SkipName(reader)) return DnsCode::kFormatError;
  const auto type = reader->Number(2);
  const auto class_or_size = reader->Number(2);
  const auto ttl_or_flags = reader->Number(4);
  if (!type || !class_or_size || !ttl_or_flags || !reader->Vector(2)) return DnsCode::kFormatError;
  if (*type != kTypeOpt) return DnsCode::kNoError;
  if (!is_root || query->edns_bytes) return DnsCode::kFormatError;  // RFC 6891 6.1.1
  query->edns_bytes = static_cast<std::uint16_t>(*class_or_size);
  const bool is_version_0 = (*ttl_or_flags >> 16 & 0xff) == 0;
  return is_version_0 ? DnsCode::kNoError : DnsCode::kBadVersion;
}

DnsCode ReadSections(std::span<const std::uint8_t> message,
                     const std::array<std::uint32_t, 4>& counts, DnsQuery* query) {
  const auto [questions, answers, authorities, additional] = counts;
  if (questions != 1 || answers != 0 || authorities != 0 || additional > kMostAdditional) {
    return DnsCode::kFormatError;  // RFC 9619: one question
  }
  ByteReader reader(message.subspan(kHeaderBytes));
  std::string name;
  if (!ReadName(&reader, &name)) return DnsCode::kFormatError;
  const auto type = reader.Number(2);
  const auto question_class = reader.Number(2);
  if (!type || !question_class) return DnsCode::kFormatError;
  query->name = std::move(name);
  query->type = static_cast<std::uint16_t>(*type);
  query->question_end = message.size() - reader.rest().size();
  DnsCode code = DnsCode::kNoError;
  for (std::uint32_t i = 0; i < additional; ++i) {
    const DnsCode each = ReadAdditional(&reader, query);
    if (each == DnsCode::kFormatError) return each;
    if (each != DnsCode::kNoError) code = each;
  }
  if (!reader.empty() || *type == kTypeOpt) return DnsCode::kFormatError;
  if (code != DnsCode::kNoError) return code;
  const bool is_transfer = *type >= kTypeIxfr && *type <= kTypeMailA;
  return *question_class != kClassIn || is_transfer ? DnsCode::kRefused : DnsCode::kNoError;
}

}  // namespace

std::optional<DnsQuery> DecodeDnsQuery(std::span<const std::uint8_t> message) {
  if (message.size() < kHeaderBytes) return std::nullopt;
  ByteReader reader(message);
  DnsQuery query;
  query.id = static_cast<std::uint16_t>(*reader.Number(2));
  const std::uint32_t flags = *reader.Number(2);
  if ((flags & kResponse) != 0) return std::nullopt;
  query.opcode = static_cast<std::uint8_t>(flags >> 11 & 0xf);
  query.recursion_desired = (flags & kRecursionDesired) != 0;
  query.checking_disabled = (flags & kCheckingDisabled) != 0;
  std::array<std::uint32_t, 4> counts{};
  for (std::uint32_t& count : counts)
    count = *reader.Number(2);
  if (query.opcode != 0) {
    query.code = DnsCode::kNotImplemented;
  } else {
    const bool is_cut = (flags & kTruncated) != 0;
    query.code = is_cut ? DnsCode::kFormatError : ReadSections(message, counts, &query);
  }
  return query;
}

std::optional<std::span<const std::uint8_t>> FirstDnsMessage(std::span<const std::uint8_t> stream) {
  return ByteReader(stream).Vector(2);
}

}  // namespace native_runner

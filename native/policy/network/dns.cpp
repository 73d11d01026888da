#include "policy/network/dns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/network/byte_reader.h"

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
constexpr std::uint8_t kLabelKind = 0xc0;  // 00: a label, 11: a pointer; other values are invalid
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

// Reads a name that consists of labels only, as text. Returns false for any other.
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

// Finds where a record's name ends. A pointer is the end, wherever it leads.
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

namespace {

constexpr std::size_t kLeastUdpAnswer = 512;  // RFC 1035 4.2.1
constexpr std::size_t kMostTcpAnswer = 65535;
constexpr std::size_t kRecordBytes = 12;  // an address record without the address
constexpr std::size_t kOptBytes = 11;
constexpr std::uint32_t kAnswerFlags = 0x8080;  // QR, and RA: this is a resolver
constexpr std::uint32_t kAnswerTruncated = 0x0200;

class Writer {
 public:
  void Number(std::uint32_t value, unsigned size) {
    for (unsigned i = size; i > 0; --i)
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * (i - 1))));
  }
  void Bytes(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::uint8_t> Take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

std::vector<IpAddress> OfAskedType(const DnsQuery& query, const DnsAnswer& answer) {
  std::vector<IpAddress> addresses;
  if (answer.code != DnsCode::kNoError || query.code != DnsCode::kNoError) return addresses;
  for (const IpAddress& address : answer.addresses) {
    if (query.type == (address.is_v4() ? kDnsTypeA : kDnsTypeAaaa)) addresses.push_back(address);
  }
  return addresses;
}

std::size_t MostBytes(const DnsQuery& query, DnsTransport transport) {
  if (transport == DnsTransport::kTcp) return kMostTcpAnswer;
  const std::size_t taken = query.edns_bytes.value_or(kLeastUdpAnswer);
  return std::clamp(taken, kLeastUdpAnswer, kMostUdpAnswer);
}

void WriteRecord(Writer* writer, const DnsQuery& query, const IpAddress& address,
                 std::uint32_t ttl_seconds) {
  writer->Number(0xc000 | kHeaderBytes, 2);  // the question's name
  writer->Number(query.type, 2);
  writer->Number(1, 2);
  writer->Number(ttl_seconds, 4);
  writer->Number(static_cast<std::uint32_t>(address.bytes().size()), 2);
  writer->Bytes(address.bytes());
}

void WriteOpt(Writer* writer, std::uint32_t code) {
  writer->Number(0, 1);
  writer->Number(41, 2);
  writer->Number(kMostUdpAnswer, 2);
  writer->Number(code >> 4 << 24, 4);  // the upper bits of the code, version 0, no flags
  writer->Number(0, 2);
}

}  // namespace

std::vector<std::uint8_t> EncodeDnsAnswer(const DnsQuery& query,
                                          std::span<const std::uint8_t> message,
                                          const DnsAnswer& answer, DnsTransport transport) {
  const auto code =
      static_cast<std::uint32_t>(query.code != DnsCode::kNoError ? query.code : answer.code);
  std::span<const std::uint8_t> question;
  if (query.question_end > kHeaderBytes && query.question_end <= message.size()) {
    question = message.subspan(kHeaderBytes, query.question_end - kHeaderBytes);
  }
  std::vector<IpAddress> addresses = OfAskedType(query, answer);
  std::size_t size = kHeaderBytes + question.size() + (query.edns_bytes ? kOptBytes : 0);
  for (const IpAddress& address : addresses)
    size += kRecordBytes + address.bytes().size();
  const bool is_cut = size > MostBytes(query, transport);
  if (is_cut) addresses.clear();

  Writer writer;
  writer.Number(query.id, 2);
  writer.Number(kAnswerFlags | static_cast<std::uint32_t>(query.opcode) << 11 |
                    (is_cut ? kAnswerTruncated : 0U) | (query.recursion_desired ? 0x100U : 0U) |
                    (query.checking_disabled ? 0x10U : 0U) | (code & 0xf),
                2);
  writer.Number(question.empty() ? 0 : 1, 2);
  writer.Number(static_cast<std::uint32_t>(addresses.size()), 2);
  writer.Number(0, 2);
  writer.Number(query.edns_bytes ? 1 : 0, 2);
  writer.Bytes(question);
  for (const IpAddress& address : addresses)
    WriteRecord(&writer, query, address, answer.ttl_seconds);
  if (query.edns_bytes) WriteOpt(&writer, code);
  std::vector<std::uint8_t> bytes = writer.Take();
  if (transport == DnsTransport::kUdp) return bytes;
  Writer framed;
  framed.Number(static_cast<std::uint32_t>(bytes.size()), 2);
  framed.Bytes(bytes);
  return framed.Take();
}

namespace {

constexpr std::uint32_t kV4Base = 0x7f010000;  // 127.1.0.0/16
constexpr std::size_t kMostNumbers = 0xffff;
// RFC 4193 3.2: a prefix whose 40 bits were drawn at random once.
constexpr IpAddress::V6Bytes kV6Base = {0xfd, 0x5b, 0x91, 0x0e, 0xc7, 0x3a};

SyntheticAddresses::Pair PairOf(std::uint32_t number) {
  IpAddress::V6Bytes bytes = kV6Base;
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return {.v4 = IpAddress::V4(kV4Base | number), .v6 = IpAddress::V6(bytes)};
}

}  // namespace

SyntheticAddresses::SyntheticAddresses(std::span<const HostName> known, std::size_t most)
    : most_(std::min(most, kMostNumbers)) {
  for (const HostName& name : known)
    (void)Assign(name);
}

std::optional<SyntheticAddresses::Pair> SyntheticAddresses::Assign(const HostName& name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return PairOf(found->second);
  if (names_.size() >= most_) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(names_.size() + 1);
  names_.push_back(&numbers_.emplace(name, number).first->first);
  return PairOf(number);
}

const HostName* SyntheticAddresses::NameOf(const IpAddress& address) const {
  const Cidr block = address.is_v4() ? V4Block() : V6Block();
  if (!block.Contains(address)) return nullptr;
  const auto bytes = address.bytes();
  const std::uint32_t number = FourBytes(bytes, bytes.size() - 4) & kMostNumbers;
  return number >= 1 && number <= names_.size() ? names_[number - 1] : nullptr;
}

Cidr SyntheticAddresses::V4Block() {
  return {.base = IpAddress::V4(kV4Base), .length = 16};
}

Cidr SyntheticAddresses::V6Block() {
  return {.base = IpAddress::V6(kV6Base), .length = 112};
}

}  // namespace native_runner

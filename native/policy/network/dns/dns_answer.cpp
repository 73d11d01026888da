#include "policy/network/dns/dns_answer.h"

#include <algorithm>
#include <utility>

namespace native_runner {
namespace {

constexpr std::size_t kDnsHeaderBytes = 12;
constexpr std::size_t kLeastUdpAnswer = 512;  // RFC 1035 4.2.1
constexpr std::size_t kMostTcpAnswer = 65535;
constexpr std::size_t kRecordBytes = 12;  // a record of an address without the address
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
  writer->Number(0xc000 | kDnsHeaderBytes, 2);  // the question's name
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
  if (query.question_end > kDnsHeaderBytes && query.question_end <= message.size()) {
    question = message.subspan(kDnsHeaderBytes, query.question_end - kDnsHeaderBytes);
  }
  std::vector<IpAddress> addresses = OfAskedType(query, answer);
  std::size_t size = kDnsHeaderBytes + question.size() + (query.edns_bytes ? kOptBytes : 0);
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

}  // namespace native_runner

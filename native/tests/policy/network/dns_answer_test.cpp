#include <gtest/gtest.h>

#include <string>

#include "policy/network/dns.h"
#include "policy/network/ip_address.h"
#include "tests/policy/network/dns_message.h"

namespace native_runner {
namespace {

Octets Answer(const Octets& message, const DnsAnswer& answer,
              DnsTransport transport = DnsTransport::kUdp) {
  return EncodeDnsAnswer(*DecodeDnsQuery(message), message, answer, transport);
}

DnsAnswer Both() {
  return {.code = DnsCode::kNoError,
          .addresses = {*ParseIpAddress("127.1.0.2"), *ParseIpAddress("fd00::2")},
          .ttl_seconds = 5};
}

Octets AnswerHeader(std::uint8_t flags, std::uint8_t code, std::uint8_t answers,
                    std::uint8_t additional = 0) {
  Octets header = Header(static_cast<std::uint8_t>(0x80 | flags), 1, answers, 0, additional);
  header[3] = static_cast<std::uint8_t>(0x80 | code);
  return header;
}

TEST(DnsAnswer, HasTheAddressesOfTheType) {
  const Octets a = Question("A.test", 1);
  const Octets v4 = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 127, 1, 0, 2};
  EXPECT_EQ(Answer(Header(1, 1) + a, Both()), AnswerHeader(1, 0, 1) + a + v4);
  const Octets aaaa = Question("a.test", 28);
  Octets v6 = {0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 5, 0, 16, 0xfd};
  v6.resize(v6.size() + 14, 0);
  v6.push_back(2);
  EXPECT_EQ(Answer(Header(1, 1) + aaaa, Both()), AnswerHeader(1, 0, 1) + aaaa + v6);
}

TEST(DnsAnswer, OfAnotherTypeHasNoData) {
  const Octets txt = Question("a.test", 16);
  EXPECT_EQ(Answer(Header(1, 1) + txt, Both()), AnswerHeader(1, 0, 0) + txt);
}

TEST(DnsAnswer, TellsThatThereIsNoName) {
  const Octets a = Question("a.test", 1);
  DnsAnswer answer = Both();
  answer.code = DnsCode::kNameError;
  EXPECT_EQ(Answer(Header(0, 1) + a, answer), AnswerHeader(0, 3, 0) + a);
}

TEST(DnsAnswer, TellsWhatIsWrongWithTheQuery) {
  Octets wrong = Header(1, 2) + Question("a.test", 1);
  Octets expected = AnswerHeader(1, 1, 0);
  expected[5] = 0;  // no question: which one?
  EXPECT_EQ(Answer(wrong, Both()), expected);
  const Octets chaos = Question("version.bind", 16, 3);
  EXPECT_EQ(Answer(Header(1, 1) + chaos, Both()), AnswerHeader(1, 5, 0) + chaos);
}

TEST(DnsAnswer, SpeaksEdnsWithWhoDoes) {
  const Octets a = Question("a.test", 1);
  const Octets plain = Answer(Header(1, 1, 0, 0, 1) + a + Opt(4096), {});
  EXPECT_EQ(plain, AnswerHeader(1, 0, 0, 1) + a + Opt(kMostUdpAnswer));
  Octets bad_version = Opt(kMostUdpAnswer);
  bad_version[5] = 1;  // BADVERS is 16: the upper bits are in the OPT
  EXPECT_EQ(Answer(Header(1, 1, 0, 0, 1) + a + Opt(4096, 3), {}),
            AnswerHeader(1, 0, 0, 1) + a + bad_version);
}

TEST(DnsAnswer, IsCutWhereItDoesNotFit) {
  DnsAnswer many;
  for (std::uint32_t i = 0; i < 40; ++i)
    many.addresses.push_back(IpAddress::V4(0x7f010000 + i));
  const Octets question = Question("a.test", 1);
  const Octets plain = Header(1, 1) + question;
  const Octets cut = Answer(plain, many);
  EXPECT_EQ(cut, AnswerHeader(0x02 | 1, 0, 0) + question);
  const Octets whole = Answer(plain, many, DnsTransport::kTcp);
  EXPECT_EQ(whole.size(), 2 + 12 + question.size() + std::size_t{40} * 16);
  EXPECT_EQ(whole[0] << 8 | whole[1], static_cast<int>(whole.size()) - 2);
  const Octets edns = Answer(Header(1, 1, 0, 0, 1) + question + Opt(1232), many);
  EXPECT_EQ(edns.size(), 12 + question.size() + std::size_t{40} * 16 + 11);
  // Less than 512 is 512 (RFC 6891 6.2.3).
  EXPECT_EQ(Answer(Header(1, 1, 0, 0, 1) + question + Opt(0), Both())[7], 1);
}

}  // namespace
}  // namespace native_runner

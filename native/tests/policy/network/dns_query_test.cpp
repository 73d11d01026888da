#include <gtest/gtest.h>

#include <string>

#include "policy/network/dns.h"
#include "tests/policy/network/dns_message.h"

namespace native_runner {
namespace {

constexpr std::uint8_t kRd = 1;

DnsCode CodeOf(const Octets& message) {
  const auto query = DecodeDnsQuery(message);
  EXPECT_TRUE(query.has_value());
  return query ? query->code : DnsCode::kServerFailure;
}

TEST(DnsQuery, IsDecoded) {
  const auto query = DecodeDnsQuery(Header(kRd, 1) + Question("Registry.test", 28));
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->code, DnsCode::kNoError);
  EXPECT_EQ(query->id, 0x1234);
  EXPECT_EQ(query->name, "Registry.test");
  EXPECT_EQ(query->type, kDnsTypeAaaa);
  EXPECT_TRUE(query->recursion_desired);
  EXPECT_EQ(query->question_end, 12U + 15U + 4U);
  EXPECT_EQ(query->edns_bytes, std::nullopt);
}

TEST(DnsQuery, MayHaveEdns) {
  const auto query = DecodeDnsQuery(Header(kRd, 1, 0, 0, 1) + Question("a.test", 1) + Opt(1400));
  EXPECT_EQ(query->code, DnsCode::kNoError);
  EXPECT_EQ(query->edns_bytes, 1400);
  EXPECT_EQ(CodeOf(Header(kRd, 1, 0, 0, 1) + Question("a.test", 1) + Opt(1400, 1)),
            DnsCode::kBadVersion);
  EXPECT_EQ(CodeOf(Header(kRd, 1, 0, 0, 2) + Question("a.test", 1) + Opt(1400) + Opt(1400)),
            DnsCode::kFormatError);
  Octets named = Opt(1400);
  named[0] = 1;
  named.insert(named.begin() + 1, {'a', 0});
  EXPECT_EQ(CodeOf(Header(kRd, 1, 0, 0, 1) + Question("a.test", 1) + named), DnsCode::kFormatError);
  // Another record, whose name is a pointer to the question's.
  const Octets other = {0xc0, 12, 0, 250, 0, 255, 0, 0, 0, 0, 0, 2, 1, 2};
  EXPECT_EQ(CodeOf(Header(kRd, 1, 0, 0, 2) + Question("a.test", 1) + Opt(512) + other),
            DnsCode::kNoError);
}

TEST(DnsQuery, GetsNoAnswerWhereItIsNone) {
  EXPECT_EQ(DecodeDnsQuery({}), std::nullopt);
  EXPECT_EQ(DecodeDnsQuery(Octets(11, 0)), std::nullopt);
  EXPECT_EQ(DecodeDnsQuery(Header(0x80, 1) + Question("a.test", 1)), std::nullopt);
}

TEST(DnsQuery, HasOneQuestionAndNothingElse) {
  const Octets question = Question("a.test", 1);
  EXPECT_EQ(CodeOf(Header(kRd, 1) + question), DnsCode::kNoError);
  EXPECT_EQ(CodeOf(Header(kRd, 0)), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(kRd, 2) + question + question), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(kRd, 1, 1) + question + Opt(512)), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(kRd, 1, 0, 1) + question + Opt(512)), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(kRd, 1, 0, 0, 5) + question), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(kRd, 1, 0, 0, 1) + question), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(kRd, 1) + question + Octets{0}), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(0x02 | kRd, 1) + question), DnsCode::kFormatError);  // TC
}

TEST(DnsQuery, OtherKindsAreRefused) {
  EXPECT_EQ(CodeOf(Header(0x28, 1) + Question("a.test", 6)), DnsCode::kNotImplemented);    // UPDATE
  EXPECT_EQ(CodeOf(Header(kRd, 1) + Question("version.bind", 16, 3)), DnsCode::kRefused);  // CHAOS
  EXPECT_EQ(CodeOf(Header(kRd, 1) + Question("a.test", 252)), DnsCode::kRefused);          // AXFR
  EXPECT_EQ(CodeOf(Header(kRd, 1) + Question("a.test", 41)), DnsCode::kFormatError);
  EXPECT_EQ(CodeOf(Header(kRd, 1) + Question("a.test", 16)), DnsCode::kNoError);  // TXT
}

TEST(DnsQuery, NameHasNoPointers) {
  const Octets end = {0, 1, 0, 1};
  for (const Octets& name : {Octets{0xc0, 12}, Octets{0xc0, 0}, Octets{1, 'a', 0xc0, 12},
                             Octets{0xff, 0xff}, Octets{0x40, 0}, Octets{0x80, 0}}) {
    EXPECT_EQ(CodeOf(Header(kRd, 1) + name + end), DnsCode::kFormatError);
  }
}

// Enough bytes follow for a label of that length.
TEST(DnsQuery, LabelHasItsLengthInSixBits) {
  for (const std::uint8_t length : Octets{63, 64, 65, 128, 192}) {
    Octets name = {length};
    name.resize(1U + length, 'a');
    name.push_back(0);
    EXPECT_EQ(CodeOf(Header(kRd, 1) + name + Octets{0, 1, 0, 1}),
              length == 63 ? DnsCode::kNoError : DnsCode::kFormatError);
  }
}

TEST(DnsQuery, NameIsBounded) {
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  EXPECT_EQ(DecodeDnsQuery(Header(kRd, 1) + Question(longest, 1))->name, longest);
  EXPECT_EQ(CodeOf(Header(kRd, 1) + Question(longest + "b", 1)), DnsCode::kFormatError);
}

TEST(DnsQuery, NameIsWrittenWithoutDoubt) {
  const auto name_of = [](const Octets& name) {
    return DecodeDnsQuery(Header(kRd, 1) + name + Octets{0, 1, 0, 1})->name;
  };
  EXPECT_EQ(name_of({0}), ".");
  EXPECT_EQ(name_of({3, 'a', '.', 'b', 1, 'c', 0}), "a\\.b.c");
  EXPECT_EQ(name_of({3, 'a', '\\', 'b', 0}), "a\\\\b");
  EXPECT_EQ(name_of({4, 0, ' ', 0x7f, 0xff, 0}), "\\000\\032\\127\\255");
}

TEST(DnsQuery, IsRefusedWhereverItIsCut) {
  const Octets whole = Header(kRd, 1, 0, 0, 1) + Question("registry.test", 1) + Opt(1232);
  ASSERT_EQ(CodeOf(whole), DnsCode::kNoError);
  for (std::size_t size = 12; size < whole.size(); ++size) {
    EXPECT_EQ(CodeOf(Octets(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
              DnsCode::kFormatError);
  }
}

TEST(DnsQuery, ComesBehindItsLengthByTcp) {
  EXPECT_FALSE(FirstDnsMessage(Octets{}));
  EXPECT_FALSE(FirstDnsMessage(Octets{0}));
  EXPECT_FALSE(FirstDnsMessage(Octets{0, 2, 7}));
  EXPECT_EQ(FirstDnsMessage(Octets{0, 2, 7, 8, 0})->size(), 2U);
  EXPECT_EQ(FirstDnsMessage(Octets{0, 0})->size(), 0U);
}

}  // namespace
}  // namespace native_runner

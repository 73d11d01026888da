#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/network/socks.h"

namespace native_runner {
namespace {

using SocksBytes = std::vector<std::uint8_t>;

SocksBytes Named(std::string_view name, std::uint8_t command = 1) {
  SocksBytes bytes = {5, command, 0, 3, static_cast<std::uint8_t>(name.size())};
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.insert(bytes.end(), {0x01, 0xbb});
  return bytes;
}

std::string Asked(const SocksBytes& bytes) {
  const SocksRequest request = ReadSocksRequest(bytes);
  if (request.state == SocksState::kNeedsMore) return "more";
  const std::string reply = std::to_string(static_cast<int>(request.reply));
  if (request.state == SocksState::kMalformed) return "malformed " + reply;
  if (request.reply != SocksReply::kSucceeded) return "refused " + reply;
  return HostText(request.host) + " " + std::to_string(request.port) + " " +
         std::to_string(request.size);
}

TEST(SocksRequest, GreetingIsRead) {
  const SocksBytes curl = {5, 3, 0, 1, 2, 9};
  const SocksGreeting greeting = ReadSocksGreeting(curl);
  EXPECT_EQ(greeting.state, SocksState::kComplete);
  EXPECT_EQ(greeting.size, 5U);
  EXPECT_TRUE(greeting.offers_none);
  EXPECT_FALSE(ReadSocksGreeting(SocksBytes{5, 1, 2}).offers_none);
  EXPECT_EQ(ReadSocksGreeting({}).state, SocksState::kNeedsMore);
  EXPECT_EQ(ReadSocksGreeting(SocksBytes{5}).state, SocksState::kNeedsMore);
  EXPECT_EQ(ReadSocksGreeting(SocksBytes{5, 2, 0}).state, SocksState::kNeedsMore);
  EXPECT_EQ(ReadSocksGreeting(SocksBytes{5, 0}).state, SocksState::kMalformed);
  EXPECT_EQ(ReadSocksGreeting(SocksBytes{4, 1, 0}).state, SocksState::kMalformed);
}

TEST(SocksRequest, NamesAHostInThreeWays) {
  EXPECT_EQ(Asked(Named("A.test.")), "a.test 443 14");
  EXPECT_EQ(Asked({5, 1, 0, 1, 127, 0, 0, 1, 0, 80}), "127.0.0.1 80 10");
  SocksBytes v6 = {5, 1, 0, 4};
  v6.resize(4 + 15, 0);
  v6.insert(v6.end(), {1, 0, 80});
  EXPECT_EQ(Asked(v6), "::1 80 22");
  v6[14] = v6[15] = 0xff;
  EXPECT_EQ(Asked(v6), "0.0.0.1 80 22");  // mapped
}

TEST(SocksRequest, NameIsReadLikeAnyOther) {
  EXPECT_EQ(Asked(Named("0x7f.1")), "127.0.0.1 443 13");
  EXPECT_EQ(Asked(Named("[::1]")), "::1 443 12");
  EXPECT_EQ(Asked(Named(std::string_view("evil.test\0.a.test", 17))), "refused 2");
  EXPECT_EQ(ReadSocksRequest(Named(std::string_view("a\0b", 3))).asked, std::string("a\0b", 3));
  for (const char* name : {"", "a..b", "a.test:80", "a test", "1.2.3.4.5", "fe80::1%", "a%00"}) {
    EXPECT_EQ(Asked(Named(name)), "refused 2") << name;
  }
}

TEST(SocksRequest, OnlyConnects) {
  EXPECT_EQ(Asked(Named("a.test", 2)), "refused 7");  // BIND
  EXPECT_EQ(Asked(Named("a.test", 3)), "refused 7");  // UDP ASSOCIATE
  EXPECT_EQ(Asked(Named("a.test", 0)), "malformed 1");
  EXPECT_EQ(Asked(Named("a.test", 4)), "malformed 1");
  EXPECT_EQ(Asked({5, 1, 0, 1, 127, 0, 0, 1, 0, 0}), "refused 2");  // port 0
}

TEST(SocksRequest, IsStrict) {
  EXPECT_EQ(Asked({4, 1, 0, 80, 1, 1, 1, 1, 0}), "malformed 1");
  EXPECT_EQ(Asked({5, 1, 1, 3, 1, 'a', 0, 80}), "malformed 1");
  EXPECT_EQ(Asked({5, 1, 0, 2}), "malformed 8");
}

TEST(SocksRequest, NeedsAllOfIt) {
  const SocksBytes whole = Named("a.test");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(Asked(SocksBytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
              "more");
  }
  SocksBytes more = whole;
  more.push_back(22);
  EXPECT_EQ(Asked(more), "a.test 443 13");
}

TEST(SocksRequest, IsAnswered) {
  EXPECT_EQ(EncodeSocksMethod(true), (std::array<std::uint8_t, 2>{5, 0}));
  EXPECT_EQ(EncodeSocksMethod(false), (std::array<std::uint8_t, 2>{5, 0xff}));
  EXPECT_EQ(EncodeSocksReply(SocksReply::kNotAllowed),
            (std::array<std::uint8_t, 10>{5, 2, 0, 1, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace native_runner

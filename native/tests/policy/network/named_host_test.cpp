#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/host_name.h"

namespace native_runner {
namespace {

std::string Read(std::string_view text) {
  const auto host = ParseHost(text);
  if (!host) return "none";
  const bool is_name = std::holds_alternative<HostName>(host.value());
  return std::string(is_name ? "name " : "address ") + HostText(host.value());
}

TEST(NamedHost, IsANameOrAnAddress) {
  EXPECT_EQ(Read("Example.com."), "name example.com");
  EXPECT_EQ(Read("0x7f.1"), "address 127.0.0.1");
  EXPECT_EQ(Read("[::1]"), "address ::1");
  EXPECT_EQ(Read("1.2.3.4."), "address 1.2.3.4");
  EXPECT_EQ(Read("1.2.3.4.5"), "none");
  EXPECT_EQ(Read("256.256.256.256"), "none");
  EXPECT_EQ(Read("::1%"), "none");
  EXPECT_EQ(Read(""), "none");
}

std::string Split(std::string_view text) {
  const auto parts = SplitHostPort(text);
  if (!parts) return "none";
  return std::string(parts->host) + "|" + (parts->port ? std::string(*parts->port) : "-");
}

TEST(NamedHost, IsSplitFromItsPort) {
  EXPECT_EQ(Split("a.test:443"), "a.test|443");
  EXPECT_EQ(Split("a.test"), "a.test|-");
  EXPECT_EQ(Split("a.test:"), "a.test|");
  EXPECT_EQ(Split("[::1]:80"), "[::1]|80");
  EXPECT_EQ(Split("[::1]"), "[::1]|-");
  EXPECT_EQ(Split(""), "|-");
  for (const char* text : {"::1", "a:1:2", "[::1", "[::1]80", "[::1]]:80", "[::1]:1:2"}) {
    EXPECT_EQ(Split(text), "none") << text;
  }
}

TEST(NamedHost, PortIsANumber) {
  EXPECT_EQ(ParsePort("1"), 1);
  EXPECT_EQ(ParsePort("65535"), 65535);
  for (const char* text :
       {"", "0", "65536", "99999", "443 ", "+443", "-1", "0443", "1e3", "100000", "4294967739"}) {
    EXPECT_EQ(ParsePort(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace native_runner

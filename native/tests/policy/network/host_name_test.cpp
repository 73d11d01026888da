#include "policy/network/host_name.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace native_runner {
namespace host_name_test {

std::string Name(std::string_view text) {
  const auto name = ParseHostName(text);
  return name ? name.value().text() : "";
}

HostFault Fault(std::string_view text) {
  const auto name = ParseHostName(text);
  EXPECT_FALSE(name.ok()) << text;
  return name.ok() ? HostFault{} : name.error();
}

TEST(HostName, HasOneForm) {
  EXPECT_EQ(Name("Registry.NPMjs.ORG."), "registry.npmjs.org");
  EXPECT_EQ(Name("localhost"), "localhost");
  EXPECT_EQ(Name("my_bucket.s3.example"), "my_bucket.s3.example");
  EXPECT_EQ(Name("r3---sn-4g5e.example"), "r3---sn-4g5e.example");
  EXPECT_EQ(Name("XN--BCHER-KVA.example"), "xn--bcher-kva.example");
  EXPECT_EQ(Name("1.2.3.4.in-addr.arpa"), "1.2.3.4.in-addr.arpa");
  EXPECT_EQ(Name("1password.com"), "1password.com");
}

TEST(HostName, SaysWhyItIsNone) {
  EXPECT_EQ(Fault(""), HostFault::kEmpty);
  EXPECT_EQ(Fault("."), HostFault::kEmpty);
  EXPECT_EQ(Fault(".."), HostFault::kEmptyLabel);
  EXPECT_EQ(Fault("a..b"), HostFault::kEmptyLabel);
  EXPECT_EQ(Fault(".a"), HostFault::kEmptyLabel);
  EXPECT_EQ(Fault("a.b.."), HostFault::kEmptyLabel);
  EXPECT_EQ(Fault("b\xc3\xbc"
                  "cher.example"),
            HostFault::kNonAscii);
  EXPECT_EQ(Fault("a\xe3\x80\x82"
                  "example"),
            HostFault::kNonAscii);  // an ideographic full stop
  EXPECT_EQ(Fault("-a.example"), HostFault::kHyphen);
  EXPECT_EQ(Fault("a.-b"), HostFault::kHyphen);
  EXPECT_EQ(Fault("xn--abc-.example"), HostFault::kALabel);
  EXPECT_EQ(Fault("1.2.3.4"), HostFault::kNumber);
  EXPECT_EQ(Fault("a.1"), HostFault::kNumber);
  EXPECT_EQ(Fault("0x7f000001"), HostFault::kNumber);
  EXPECT_EQ(Fault("example.0x1"), HostFault::kNumber);
}

TEST(HostName, HasNoOtherCharacter) {
  for (int byte = 0; byte < 0x80; ++byte) {
    const char c = static_cast<char>(byte);
    const std::string text = std::string("a") + c + "b.example";
    const bool is_fine = std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.';
    EXPECT_EQ(ParseHostName(text).ok(), is_fine) << byte;
  }
  EXPECT_EQ(Fault(std::string_view("allowed.test\0.evil.test", 23)), HostFault::kCharacter);
  EXPECT_EQ(Fault("fe80::1%lo"), HostFault::kCharacter);
  EXPECT_EQ(Fault("allowed.test%00.evil.test"), HostFault::kCharacter);
}

TEST(HostName, IsBoundedByByte) {
  const std::string label(63, 'a');
  EXPECT_EQ(Name(label + ".b"), label + ".b");
  EXPECT_EQ(Fault(label + "a.b"), HostFault::kLongLabel);
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  EXPECT_EQ(Name(longest), longest);
  EXPECT_EQ(Name(longest + "."), longest);
  EXPECT_EQ(Fault(longest + "b"), HostFault::kTooLong);
}

TEST(HostName, IsBelowByWholeLabels) {
  const auto is_below = [](const char* name, const char* parent) {
    return ParseHostName(name).value().IsBelow(ParseHostName(parent).value());
  };
  EXPECT_TRUE(is_below("a.example.com", "example.com"));
  EXPECT_TRUE(is_below("a.b.example.com", "example.com"));
  EXPECT_FALSE(is_below("example.com", "example.com"));
  EXPECT_FALSE(is_below("badexample.com", "example.com"));
  EXPECT_FALSE(is_below("example.com", "a.example.com"));
  EXPECT_FALSE(is_below("example.com.evil.test", "example.com"));
}

}  // namespace host_name_test
}  // namespace native_runner

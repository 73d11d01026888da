#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/tls_client_hello.h"
#include "tests/policy/network/made_client_hello.h"

namespace native_runner {
namespace {

const TlsBytes kAlpn = Extension(16, {0, 3, 2, 'h', '2'});

std::string NameIn(const TlsBytes& body) {
  const auto hello = DecodeClientHello(body);
  if (!hello) return "malformed";
  return hello->server_name ? hello->server_name->text() : "none";
}

TEST(ClientHello, HasItsServerName) {
  EXPECT_EQ(NameIn(HelloBody(ServerName("Registry.Test"))), "registry.test");
  EXPECT_EQ(NameIn(HelloBody(Join(kAlpn, ServerName("a.test")))), "a.test");
}

TEST(ClientHello, MayHaveNone) {
  EXPECT_EQ(NameIn(HelloBody(kAlpn)), "none");
  EXPECT_EQ(NameIn(HelloBody({})), "none");
  EXPECT_EQ(NameIn(HelloStart()), "none");
}

TEST(ClientHello, NoticesEch) {
  EXPECT_FALSE(DecodeClientHello(HelloBody(ServerName("a.test")))->has_ech);
  EXPECT_TRUE(
      DecodeClientHello(HelloBody(Join(ServerName("a.test"), Extension(0xfe0d, {0}))))->has_ech);
}

TEST(ClientHello, HasOneName) {
  const TlsBytes two = Join(NameEntry("a.test"), NameEntry("b.test"));
  EXPECT_EQ(NameIn(HelloBody(Extension(0, Sized(2, two)))), "malformed");
  EXPECT_EQ(NameIn(HelloBody(Join(ServerName("a.test"), ServerName("a.test")))), "malformed");
  EXPECT_EQ(NameIn(HelloBody(Join(kAlpn, kAlpn))), "malformed");
  EXPECT_EQ(NameIn(HelloBody(Extension(0, Sized(2, NameEntry("a.test", 1))))), "malformed");
  EXPECT_EQ(NameIn(HelloBody(Extension(0, Sized(2, {})))), "malformed");
  EXPECT_EQ(NameIn(HelloBody(Extension(0, {}))), "malformed");
  EXPECT_EQ(NameIn(HelloBody(Extension(0, Join(Sized(2, NameEntry("a.test")), {0})))), "malformed");
}

TEST(ClientHello, NameIsAHostName) {
  for (const std::string_view name :
       {std::string_view(""), std::string_view("a.test\0b", 8), std::string_view("1.2.3.4"),
        std::string_view("::1"), std::string_view("a..b"), std::string_view("a/b")}) {
    EXPECT_EQ(NameIn(HelloBody(ServerName(name))), "malformed") << name;
  }
}

TEST(ClientHello, IsMalformedWhereverItIsCut) {
  const TlsBytes whole = HelloBody(Join(ServerName("a.test"), kAlpn));
  const std::size_t without_extensions = HelloStart().size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const TlsBytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(NameIn(cut), size == without_extensions ? "none" : "malformed") << size;
  }
  EXPECT_EQ(NameIn(Join(whole, {0})), "malformed");
}

}  // namespace
}  // namespace native_runner

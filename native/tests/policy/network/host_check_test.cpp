#include "policy/network/host_check.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace native_runner {
namespace {

using State = HostCheck::State;
constexpr std::uint16_t kPort = 8000;

std::string Request(std::string_view host, std::string_view target = "/") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nAccept: */*\r\nHost: " + std::string(host) +
         "\r\n\r\n";
}

// All pieces of one size.
State Fed(HostCheck* check, std::string_view bytes, std::size_t piece) {
  State state = State::kNeedsMore;
  for (; !bytes.empty() && state == State::kNeedsMore;
       bytes.remove_prefix(std::min(piece, bytes.size())))
    state = check->Feed(bytes.substr(0, piece));
  return state;
}

State WholeAndInPieces(std::string_view bytes) {
  HostCheck whole(kPort);
  const State state = whole.Feed(bytes);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}}) {
    HostCheck check(kPort);
    EXPECT_EQ(Fed(&check, bytes, piece), state) << bytes;
    EXPECT_EQ(check.status(), whole.status());
  }
  return state;
}

TEST(HostCheckTest, PassesLoopbacksWithItsPortOrNone) {
  for (const char* host : {"localhost", "LocalHost:8000", "localhost.", "app.localhost:8000",
                           "127.0.0.1", "127.0.0.1:8000", "127.8.9.1:8000", "[::1]", "[::1]:8000"})
    EXPECT_EQ(WholeAndInPieces(Request(host)), State::kPasses) << host;
}

TEST(HostCheckTest, RefusesEachOtherHost) {
  for (const char* host : {"evil.example",
                           "evil.example:8000",
                           "localhost:8001",
                           "localhost:",
                           "localhost:80000",
                           "localhost.evil.example",
                           "evillocalhost",
                           ".localhost",
                           "127.0.0.1.evil.example",
                           "127.1",
                           "0x7f.0.0.1",
                           "2130706433",
                           "0.0.0.0:8000",
                           "128.0.0.1",
                           "10.0.0.1",
                           "[::]",
                           "[::2]:8000",
                           "[::1",
                           "[::1]x",
                           "::1",
                           "[::ffff:127.0.0.1]",
                           "localhost@evil.example",
                           "evil.example@localhost",
                           ""}) {
    HostCheck check(kPort);
    EXPECT_EQ(check.Feed(Request(host)), State::kRefused) << host;
    EXPECT_EQ(check.status(), 421U) << host;
    EXPECT_EQ(WholeAndInPieces(Request(host)), State::kRefused) << host;
  }
}

TEST(HostCheckTest, ComparesTheAuthorityOfATargetToo) {
  EXPECT_EQ(WholeAndInPieces(Request("localhost", "http://127.0.0.1:8000/a?b")), State::kPasses);
  EXPECT_EQ(WholeAndInPieces(Request("localhost", "http://evil.example/")), State::kRefused);
  EXPECT_EQ(WholeAndInPieces("CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            State::kRefused);
}

TEST(HostCheckTest, RefusesHeadsThatRecipientsReadDifferently) {
  for (const char* head :
       {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", "FOO / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n c\r\nHost: localhost\r\n\r\n"}) {
    HostCheck check(kPort);
    EXPECT_EQ(check.Feed(head), State::kRefused) << head;
    EXPECT_EQ(check.status(), 400U) << head;
  }
}

TEST(HostCheckTest, PassesAnOldRequestWithoutAHost) {
  EXPECT_EQ(WholeAndInPieces("GET / HTTP/1.0\r\n\r\n"), State::kPasses);
  EXPECT_EQ(WholeAndInPieces("GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n"), State::kRefused);
}

TEST(HostCheckTest, RefusesAHeadWithoutABound) {
  const std::string much(2 * HostCheck::kMostHead, 'a');
  for (const std::string& head : {"GET /" + much, "GET / HTTP/1.1\r\nA: " + much}) {
    HostCheck check(kPort);
    EXPECT_EQ(check.Feed(head), State::kRefused);
    EXPECT_EQ(check.status(), 431U);
  }
  HostCheck method(kPort);
  EXPECT_EQ(method.Feed(much + " / HTTP/1.1\r\nHost: localhost\r\n\r\n"), State::kRefused);
}

TEST(HostCheckTest, PassesOtherProtocols) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view bytes :
       {"\x16\x03\x01\x02"sv, "\0\0\0\x08"sv, "SSH-2.0-client\r\n"sv, "*1\r\n$4\r\nPING\r\n"sv,
        "EHLO a.test\r\n"sv, "hello world"sv, "hello http world"sv, "PRI * HTTP/2.0\r\n\r\n"sv,
        "0032git-upload-pack /a.git\0host=a"sv, "GET /\r\n"sv, " x"sv, "\r\n"sv})
    EXPECT_EQ(WholeAndInPieces(bytes), State::kPasses) << bytes;
}

TEST(HostCheckTest, LetsAWordPassBeforeItIsARequest) {
  HostCheck check(kPort);
  EXPECT_EQ(check.Feed("JDWP-Handshake"), State::kNeedsMore);
  EXPECT_FALSE(check.holds());
  EXPECT_EQ(check.Feed(" /"), State::kNeedsMore);
  EXPECT_TRUE(check.holds());
  EXPECT_EQ(check.Feed(" HTTP/1.1\r\nHost: evil.example\r\n\r\n"), State::kRefused);
}

TEST(HostCheckTest, PassesWhatEndsBeforeItIsARequest) {
  for (const char* bytes : {"", "GET", "GET /a"}) {
    HostCheck check(kPort);
    EXPECT_EQ(check.Feed(bytes), State::kNeedsMore);
    EXPECT_EQ(check.End(), State::kPasses);
  }
  HostCheck check(kPort);
  EXPECT_EQ(check.Feed("GET / HTTP/1.1\r\nHost: evil.example\r\n"), State::kNeedsMore);
  EXPECT_EQ(check.End(), State::kRefused);
}

}  // namespace
}  // namespace native_runner

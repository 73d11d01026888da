#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/http.h"

namespace native_runner {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

HeadState StateAfter(std::string_view bytes) {
  HeadReader reader;
  reader.Feed(bytes);
  return reader.state();
}

TEST(HeadReader, EndsAtTheEmptyLineHoweverItComes) {
  const std::string sent = std::string(kGet) + "body";
  for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
    HeadReader reader;
    std::size_t taken = 0;
    for (std::size_t at = 0; at < sent.size(); at += piece)
      taken += reader.Feed(std::string_view(sent).substr(at, piece));
    EXPECT_EQ(reader.state(), HeadState::kComplete);
    EXPECT_EQ(taken, kGet.size());
    ASSERT_EQ(reader.request().fields.size(), 1U);
    EXPECT_EQ(reader.request().method + " " + reader.request().path, "GET /");
    EXPECT_EQ(reader.request().fields[0].name, "Host");
    EXPECT_EQ(reader.request().fields[0].value, "a.test");
  }
}

TEST(HeadReader, NeedsAllOfIt) {
  for (std::size_t size = 0; size < kGet.size(); ++size)
    EXPECT_EQ(StateAfter(kGet.substr(0, size)), HeadState::kNeedsMore);
}

TEST(HeadReader, KnowsLinesByBothCharactersOnly) {
  for (const char* bytes :
       {"GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nA: b\n", "GET / HTTP/1.1\rA",
        "GET / HTTP/1.1\r\r\n", "\r\nGET /", " GET", "\n", "\x05\x01", "\x16\x03\x01"}) {
    EXPECT_EQ(StateAfter(bytes), HeadState::kMalformed) << bytes;
  }
}

// Each is refused by all of it at once and in pieces, as the same fault; without its fault it is
// read.
TEST(HeadReader, RefusesWhatTheParserBehindItLetsThrough) {
  struct Case {
    std::string_view head;
    HttpFault fault;
  };
  const Case cases[] = {
      {"GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n", HttpFault::kTarget},
      {"GET /  HTTP/1.1\r\nHost: a.test\r\n\r\n", HttpFault::kTarget},
      {"CONNECT  a.test:443 HTTP/1.1\r\n\r\n", HttpFault::kTarget},
      {"GET /#x HTTP/1.1\r\nHost: a.test\r\n\r\n", HttpFault::kTarget},
      {"GET / HTTP/2.0\r\nHost: a.test\r\n\r\n", HttpFault::kVersion},
      {"GET / HTTP/0.9\r\nHost: a.test\r\n\r\n", HttpFault::kVersion},
      {"GET /\r\nHost: a.test\r\n\r\n", HttpFault::kRequestLine},
      {"GET / RTSP/1.0\r\nHost: a.test\r\n\r\n", HttpFault::kRequestLine},
      {"SOURCE / ICE/1.0\r\nHost: a.test\r\n\r\n", HttpFault::kRequestLine},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
       HttpFault::kFraming},
  };
  for (const auto& [head, fault] : cases) {
    for (std::size_t piece = 1; piece <= head.size(); ++piece) {
      HeadReader reader;
      for (std::size_t at = 0; at < head.size(); at += piece)
        reader.Feed(head.substr(at, piece));
      EXPECT_EQ(reader.state(), HeadState::kMalformed) << head << piece;
      EXPECT_EQ(reader.fault(), fault) << head << piece;
      EXPECT_EQ(reader.Feed("more"), 0U);
    }
  }
  EXPECT_EQ(StateAfter("CONNECT a.test:443 HTTP/1.1\r\n\r\n"), HeadState::kComplete);
}

TEST(HeadReader, LetsServersDefineMethods) {
  for (const char* method : {"LIST", "VERSION-CONTROL", "PRI", "DESCRIBE", "get", "X!"}) {
    HeadReader reader;
    reader.Feed(std::string(method) + std::string(kGet.substr(3)));
    EXPECT_EQ(reader.state(), HeadState::kComplete) << method;
    EXPECT_EQ(reader.request().method, method);
  }
  EXPECT_EQ(StateAfter(std::string(32, 'A') + " "), HeadState::kNeedsMore);
  EXPECT_EQ(StateAfter(std::string(33, 'A')), HeadState::kMalformed);
}

TEST(HeadReader, IsBounded) {
  const std::string line = "A: " + std::string(1000, 'b') + "\r\n";
  std::string head = "GET / HTTP/1.1\r\n";
  while (head.size() <= HeadReader::kMostBytes)
    head += line;
  HeadReader reader;
  EXPECT_EQ(reader.Feed(head), HeadReader::kMostBytes);
  EXPECT_EQ(reader.state(), HeadState::kTooLong);
  EXPECT_EQ(reader.Feed("more"), 0U);
}

}  // namespace
}  // namespace native_runner

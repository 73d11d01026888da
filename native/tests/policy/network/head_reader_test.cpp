#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/http_framing.h"

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
    EXPECT_EQ(reader.head(), kGet);
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

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/http.h"

namespace native_runner {
namespace {

HttpRequest Chunked() {
  HttpRequest request;
  request.is_chunked = true;
  return request;
}

HttpRequest OfLength(std::uint64_t length) {
  HttpRequest request;
  request.content_length = length;
  return request;
}

BodyState Fed(const HttpRequest& request, std::string_view bytes, std::size_t piece,
              std::size_t* taken) {
  BodyReader reader(request);
  *taken = 0;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    *taken += reader.Feed(bytes.substr(at, piece));
  return reader.state();
}

BodyState StateOfChunks(std::string_view bytes) {
  std::size_t taken = 0;
  return Fed(Chunked(), bytes, bytes.size() + 1, &taken);
}

TEST(BodyReader, WithoutLengthThereIsNone) {
  BodyReader reader(HttpRequest{});
  EXPECT_EQ(reader.state(), BodyState::kComplete);
  EXPECT_EQ(reader.Feed("GET"), 0U);
  EXPECT_EQ(BodyReader(OfLength(0)).state(), BodyState::kComplete);
}

TEST(BodyReader, EndsAtItsLength) {
  for (std::size_t piece = 1; piece < 10; ++piece) {
    std::size_t taken = 0;
    EXPECT_EQ(Fed(OfLength(5), "helloGET /", piece, &taken), BodyState::kComplete);
    EXPECT_EQ(taken, 5U);
  }
  std::size_t taken = 0;
  EXPECT_EQ(Fed(OfLength(5), "hell", 100, &taken), BodyState::kNeedsMore);
}

TEST(BodyReader, EndsBehindTheLastChunk) {
  const std::string_view body = "5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n";
  const std::string sent = std::string(body) + "GET / HTTP/1.1\r\n";
  for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
    std::size_t taken = 0;
    EXPECT_EQ(Fed(Chunked(), sent, piece, &taken), BodyState::kComplete);
    EXPECT_EQ(taken, body.size());
  }
  for (std::size_t size = 0; size < body.size(); ++size)
    EXPECT_EQ(StateOfChunks(body.substr(0, size)), BodyState::kNeedsMore);
}

TEST(BodyReader, ChunksAreStrict) {
  for (const char* bytes : {"\r\n",
                            " 5\r\n",
                            "5 \r\n",
                            "5\n",
                            "5\rx",
                            "5;a=b\r\n",
                            "5;\r\n",
                            "0x5\r\n",
                            "+5\r\n",
                            "-5\r\n",
                            "g\r\n",
                            "1\r\nab",
                            "1\r\na\n",
                            "1\r\na\rb",
                            "0\r\nA: b\r\n\r\n",
                            "0\r\n\n",
                            "0\n\r\n",
                            "0\r\n\rx",
                            "00000000000000005\r\n",
                            "ffffffffffffffff\r\n",
                            "4000000000000001\r\n"}) {
    EXPECT_EQ(StateOfChunks(bytes), BodyState::kMalformed) << bytes;
  }
  EXPECT_EQ(StateOfChunks("4000000000000000\r\n"), BodyState::kNeedsMore);
  EXPECT_EQ(StateOfChunks("0000000000000000\r\n\r\n"), BodyState::kComplete);
}

TEST(BodyReader, TakesNothingBehindAFault) {
  BodyReader reader(Chunked());
  EXPECT_EQ(reader.Feed("1\r\nabc"), 4U);
  EXPECT_EQ(reader.state(), BodyState::kMalformed);
  EXPECT_EQ(reader.Feed("\r\n0\r\n\r\n"), 0U);
}

TEST(BodyReader, TakesAsMuchBeforeAFaultInPieces) {
  struct Case {
    std::string_view bytes;
    std::size_t taken;
  };
  const Case cases[] = {{"6\r\xff", 2}, {"\r\n", 0}, {"1\r\na\rb", 5}, {"0\r\n\rx", 4}, {"5;a", 1}};
  for (const auto& [bytes, wanted] : cases) {
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      std::size_t taken = 0;
      EXPECT_EQ(Fed(Chunked(), bytes, piece, &taken), BodyState::kMalformed) << bytes << piece;
      EXPECT_EQ(taken, wanted) << bytes << piece;
    }
  }
}

}  // namespace
}  // namespace native_runner

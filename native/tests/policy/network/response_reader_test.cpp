#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/network/http.h"

namespace native_runner {
namespace {

HttpRequest AskedBy(const std::string& method = "GET", bool upgrades = false) {
  HttpRequest request;
  request.method = method;
  request.upgrades_to_websocket = upgrades;
  return request;
}

struct Case {
  std::string answer;
  ResponseState state;
  bool keeps = false;
  std::string method = "GET";
};

// The bytes after an answer.
constexpr char kBehind[] = "HTTP/1.1 200 next";

const std::vector<Case>& Cases() {
  using enum ResponseState;
  static const std::vector<Case> cases = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", kComplete, true},
      {"HTTP/1.1 200\r\ncontent-length:3\r\n\r\nabc", kComplete, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", kComplete, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", kComplete,
       true},
      {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na", kComplete, false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", kComplete, false},
      {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", kComplete, true},
      {"HTTP/1.1 204 None\r\nContent-Length: 9\r\n\r\n", kComplete, true},
      {"HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", kComplete, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", kComplete, true, "HEAD"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
       "Content-Length: 1\r\n\r\na",
       kComplete, true},
  };
  return cases;
}

TEST(ResponseReader, FindsTheEndInPiecesOfAnySize) {
  for (const Case& one : Cases()) {
    const std::string all = one.answer + kBehind;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, all.size()}) {
      ResponseReader reader(AskedBy(one.method));
      std::size_t taken = 0;
      while (reader.state() == ResponseState::kNeedsMore && taken < all.size())
        taken += reader.Feed(std::string_view(all).substr(taken, piece));
      EXPECT_EQ(reader.state(), one.state) << one.answer;
      EXPECT_EQ(taken, one.answer.size()) << one.answer << piece;
      EXPECT_EQ(reader.keeps(), one.keeps) << one.answer;
      EXPECT_EQ(reader.Feed(kBehind), 0U);
    }
  }
}

TEST(ResponseReader, WhatCanBeReadInTwoWaysLastsUntilTheClose) {
  const std::string framed = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n";
  const std::vector<std::string> answers = {
      "HTTP/1.1 200 OK\r\n\r\n",
      "HTTP/2 200\r\n\r\n",
      "SSH-2.0-x\r\n\r\n",
      "ICY 200 OK\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      framed + "Content-Length: 1\r\n\r\na",
      framed + "Transfer-Encoding: chunked\r\n\r\n",
      framed + " folded\r\n\r\n",
      framed + "A: b\n\r\n",
      "\r\n" + framed + "\r\na",
      "HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\na",
      framed + "nothing\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 101 Switching\r\n\r\n",
      std::string(ResponseReader::kMostHeadBytes, 'x'),
  };
  for (const std::string& answer : answers) {
    ResponseReader reader(AskedBy());
    EXPECT_EQ(reader.Feed(answer), answer.size()) << answer.substr(0, 100);
    EXPECT_EQ(reader.state(), ResponseState::kUntilClose) << answer.substr(0, 100);
    EXPECT_EQ(reader.Feed("more"), 4U);
    EXPECT_FALSE(reader.state() == ResponseState::kComplete && reader.keeps());
  }
}

TEST(ResponseReader, HasAsManyFieldsAsItsHeadHasRoomFor) {
  std::string answer = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 2000; ++i)
    answer += "Set-Cookie: a=b\r\n";
  answer += "Content-Length: 1\r\n\r\na";
  ResponseReader reader(AskedBy());
  EXPECT_EQ(reader.Feed(answer + "b"), answer.size());
  EXPECT_EQ(reader.state(), ResponseState::kComplete);
}

TEST(ResponseReader, AnUpgradeEndsWithItsHead) {
  ResponseReader reader(AskedBy("GET", true));
  const std::string head = "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n";
  EXPECT_EQ(reader.Feed(head + "frames"), head.size());
  EXPECT_EQ(reader.state(), ResponseState::kUpgraded);
  EXPECT_EQ(reader.status(), 101U);
}

}  // namespace
}  // namespace native_runner

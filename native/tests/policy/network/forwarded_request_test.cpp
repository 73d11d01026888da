#include <gtest/gtest.h>

#include <string>

#include "policy/network/http.h"

namespace native_runner {
namespace {

std::string Forwarded(const std::string& head, bool closes = false) {
  return ForwardedHead(ParseHttpRequest(head + "\r\n").value(), closes);
}

TEST(Forward, IsInOriginFormForTheServer) {
  EXPECT_EQ(Forwarded("GET http://A.test/x?y HTTP/1.1\r\nHost: a.TEST\r\nAccept: */*\r\n"
                      "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n"),
            "GET /x?y HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(Forwarded("GET http://a.test:8080 HTTP/1.1\r\nHost: a.test:8080\r\n"),
            "GET / HTTP/1.1\r\nHost: a.test:8080\r\n\r\n");
  EXPECT_EQ(Forwarded("OPTIONS * HTTP/1.1\r\nHost: a.test:80\r\n"),
            "OPTIONS * HTTP/1.1\r\nHost: a.test:80\r\n\r\n");
}

TEST(Forward, SaysItsLengthAsItWasUnderstood) {
  EXPECT_EQ(Forwarded("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 007\r\nX: y\r\n"),
            "POST / HTTP/1.1\r\nHost: a.test\r\nX: y\r\nContent-Length: 7\r\n\r\n");
  EXPECT_EQ(Forwarded("POST / HTTP/1.1\r\nTransfer-encoding:  CHUNKED\r\nHost: a.test\r\n"),
            "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(Forward, LeavesOutWhatIsForTheProxy) {
  EXPECT_EQ(Forwarded("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, X-Mine\r\n"
                      "X-Mine: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nX-Other: 2\r\n"),
            "GET / HTTP/1.1\r\nHost: a.test\r\nX-Other: 2\r\n\r\n");
}

TEST(Forward, LetsWebSocketThroughButNotHttp2) {
  EXPECT_EQ(Forwarded("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n"
                      "Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n"),
            "GET / HTTP/1.1\r\nHost: a.test\r\nSec-WebSocket-Key: x\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\n\r\n");
  EXPECT_EQ(Forwarded("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                      "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
            "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
}

TEST(Forward, SaysWhetherTheConnectionIsKept) {
  EXPECT_EQ(Forwarded("GET / HTTP/1.1\r\nHost: a.test\r\n", true),
            "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(Forwarded("GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n"),
            "GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n");
}

// The written request is read as the same request again, and written as the same bytes.
TEST(Forward, IsReadAsTheSameAgain) {
  for (const std::string head :
       {"POST http://a.test:81/x HTTP/1.1\r\nHost: a.test:81\r\nContent-Length: 3\r\nA: b\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]:80\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"}) {
    const std::string once = Forwarded(head);
    EXPECT_EQ(ForwardedHead(ParseHttpRequest(once).value(), false), once);
  }
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "policy/network/http.h"

namespace native_runner {
namespace http_request_test {

HttpRequest Request(const std::string& head) {
  auto request = ParseHttpRequest(head + "\r\n");
  EXPECT_TRUE(request.ok()) << head << HttpFaultText(request.ok() ? HttpFault{} : request.error());
  return request.ok() ? request.value() : HttpRequest{};
}

// "" for none.
std::string Fault(const std::string& head) {
  const auto request = ParseHttpRequest(head + "\r\n");
  return request.ok() ? "" : HttpFaultText(request.error());
}

std::string FieldsFault(const std::string& fields) {
  return Fault("POST / HTTP/1.1\r\nHost: a.test\r\n" + fields);
}

std::string Target(const std::string& line) {
  const auto request = ParseHttpRequest(line + " HTTP/1.0\r\nHost: a.test\r\n\r\n");
  if (!request) return "refused";
  const HttpRequest& read = request.value();
  return HostText(read.host) + ":" + (read.port ? std::to_string(*read.port) : "-") + " " +
         read.path;
}

TEST(HttpRequest, HasFourForms) {
  const HttpRequest connect = Request("CONNECT A.test:443 HTTP/1.1\r\nHost: a.test:443\r\n");
  EXPECT_EQ(connect.form, HttpForm::kAuthority);
  EXPECT_EQ(HostText(connect.host), "a.test");
  EXPECT_EQ(connect.port, 443);
  EXPECT_EQ(connect.path, "");
  const HttpRequest absolute = Request("GET http://a.test/x?y=1 HTTP/1.1\r\nHost: a.test\r\n");
  EXPECT_EQ(absolute.form, HttpForm::kAbsolute);
  EXPECT_EQ(absolute.port, 80);
  EXPECT_EQ(absolute.path, "/x?y=1");
  const HttpRequest origin = Request("GET /x HTTP/1.1\r\nhOST:\t A.TEST.:8080 \r\n");
  EXPECT_EQ(origin.form, HttpForm::kOrigin);
  EXPECT_EQ(HostText(origin.host), "a.test");
  EXPECT_EQ(origin.port, 8080);
  EXPECT_EQ(Request("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n").form, HttpForm::kAsterisk);
}

TEST(HttpRequest, TargetIsReadStrictly) {
  EXPECT_EQ(Target("GET http://a.test"), "a.test:80 /");
  EXPECT_EQ(Target("GET HTTP://a.test?q"), "a.test:80 /?q");
  EXPECT_EQ(Target("OPTIONS http://a.test"), "a.test:80 *");
  EXPECT_EQ(Target("GET //evil.test/"), "a.test:- //evil.test/");  // a path, whose host is Host's
  for (const char* line : {"GET *",
                           "GET a.test",
                           "GET a.test:80",
                           "CONNECT a.test",
                           "CONNECT a.test:",
                           "CONNECT a.test:0",
                           "CONNECT a.test:443/",
                           "CONNECT /",
                           "CONNECT http://a.test:443",
                           "GET https://a.test/",
                           "GET ftp://a.test/",
                           "GET http://user@a.test/",
                           "GET http:///x",
                           "GET http://a.test:/",
                           "GET http://a.test:99999/",
                           "GET http://a.test\\@evil.test/",
                           "GET http://a.test#x",
                           "GET /x#y",
                           "GET /x y",
                           "GET /x\ty",
                           "GET  /",
                           "GET /\x7f",
                           "GET /\xc3\xa9",
                           "GET http://a.test%2eevil/",
                           "GET ",
                           " GET /",
                           "G@T /",
                           "GET",
                           "connect a.test:443"}) {
    EXPECT_EQ(Target(line), "refused") << line;
  }
}

TEST(HttpRequest, VersionIsOneOfTwo) {
  for (const char* version :
       {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", "", "HTTP/11", "HTTP/1.1x"}) {
    EXPECT_NE(Fault("GET / " + std::string(version) + "\r\nHost: a.test\r\n"), "") << version;
  }
  EXPECT_EQ(HttpFaultStatus(ParseHttpRequest("PRI * HTTP/2.0\r\n\r\n").error()), 505U);
}

TEST(HttpRequest, HasOneHostThatAgrees) {
  const std::string bad_host = HttpFaultText(HttpFault::kHost);
  EXPECT_EQ(Fault("GET / HTTP/1.1\r\n"), bad_host);
  EXPECT_EQ(Fault("GET / HTTP/1.0\r\n"), bad_host);
  EXPECT_EQ(Fault("GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n"), bad_host);
  EXPECT_EQ(Fault("GET / HTTP/1.1\r\nHost: a.test\r\nhost: b.test\r\n"), bad_host);
  EXPECT_EQ(Fault("GET / HTTP/1.1\r\nHost: a.test, b.test\r\n"), bad_host);
  EXPECT_EQ(Fault("GET / HTTP/1.1\r\nHost:\r\n"), bad_host);
  EXPECT_EQ(Fault("GET / HTTP/1.1\r\nHost: a.test/x\r\n"), bad_host);
  EXPECT_EQ(Fault("GET / HTTP/1.1\r\nHost: user@a.test\r\n"), bad_host);
  EXPECT_EQ(Fault("GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n"), bad_host);
  EXPECT_EQ(Fault("GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n"), bad_host);
  EXPECT_EQ(Fault("GET http://a.test/ HTTP/1.1\r\n"), bad_host);
  EXPECT_EQ(Fault("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n"), bad_host);
  EXPECT_EQ(Fault("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n"), bad_host);
  EXPECT_EQ(Fault("GET http://a.test/ HTTP/1.0\r\n"), "");
  EXPECT_EQ(Fault("GET http://a.test:80/ HTTP/1.1\r\nHost: A.test.\r\n"), "");
  EXPECT_EQ(Fault("CONNECT a.test:443 HTTP/1.1\r\n"), "");
  EXPECT_EQ(Fault("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n"), "");
}

TEST(HttpRequest, FieldsAreStrict) {
  EXPECT_EQ(FieldsFault("A: b\r\nX_y:\r\nZ: \xc3\xa9\t!\r\n"), "");
  for (const char* fields : {"A : b\r\n", ": b\r\n", "A\r\n", " A: b\r\n", "A: b\r\n c\r\n",
                             "A: b\r\n\tc\r\n", "A: \x01\r\n", "A: \x7f\r\n", "A: b\nB: c\r\n",
                             "A: b\rB: c\r\n", "A(: b\r\n", "\xc3\xa9: b\r\n",
                             "A: \x0b"
                             "chunked\r\n"}) {
    EXPECT_EQ(FieldsFault(fields), HttpFaultText(HttpFault::kField)) << fields;
  }
  EXPECT_NE(FieldsFault(std::string("A: b\0c\r\n", 8)), "");
  std::string many;
  for (std::size_t i = 0; i < kMostHttpFields - 1; ++i)
    many += "A: b\r\n";
  EXPECT_EQ(FieldsFault(many), "");
  EXPECT_NE(FieldsFault(many + "A: b\r\n"), "");
}

TEST(HttpRequest, HasFewConnectionOptions) {
  std::string options = "Connection: a";
  for (int i = 1; i < 64; ++i)
    options += ",a";
  EXPECT_EQ(FieldsFault(options + "\r\n"), "");
  EXPECT_EQ(FieldsFault(options + ",a\r\n"), HttpFaultText(HttpFault::kField));
  EXPECT_EQ(FieldsFault(options + "\r\nConnection: a\r\n"), HttpFaultText(HttpFault::kField));
}

TEST(HttpRequest, EndsInOneWay) {
  EXPECT_EQ(Request("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 12\r\n").content_length,
            12U);
  EXPECT_TRUE(
      Request("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: Chunked\r\n").is_chunked);
  const HttpRequest none = Request("POST / HTTP/1.1\r\nHost: a.test\r\n");
  EXPECT_FALSE(none.is_chunked || none.content_length);
  for (const char* fields :
       {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
        "Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1\r\ncontent-length: 2\r\n",
        "Content-Length: 1, 1\r\n", "Content-Length: +1\r\n", "Content-Length: -1\r\n",
        "Content-Length: 0x1\r\n", "Content-Length:\r\n", "Content-Length: 1 1\r\n",
        "Content-Length: 9999999999999999999\r\n", "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked;a=b\r\n",
        "Transfer-Encoding:\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"}) {
    EXPECT_EQ(FieldsFault(fields), HttpFaultText(HttpFault::kFraming)) << fields;
  }
  EXPECT_NE(Fault("POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"), "");
  EXPECT_NE(Fault("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 5\r\n"), "");
}

TEST(HttpRequest, KnowsWhetherAnotherFollows) {
  const auto closes = [](const char* line, const char* fields) {
    return Request(std::string(line) + "\r\nHost: a.test\r\n" + fields).closes;
  };
  EXPECT_FALSE(closes("GET / HTTP/1.1", ""));
  EXPECT_TRUE(closes("GET / HTTP/1.1", "Connection: foo , Close\r\n"));
  EXPECT_TRUE(closes("GET / HTTP/1.0", ""));
  EXPECT_FALSE(closes("GET / HTTP/1.0", "Connection: keep-alive\r\n"));
  for (const char* name : {"Host", "content-length", "Transfer-Encoding"}) {
    EXPECT_EQ(FieldsFault("Connection: close, " + std::string(name) + "\r\n"),
              HttpFaultText(HttpFault::kConnection));
  }
}

TEST(HttpRequest, KnowsAnUpgradeToWebSocket) {
  const auto upgrades = [](const char* fields) {
    return Request("GET / HTTP/1.1\r\nHost: a.test\r\n" + std::string(fields))
        .upgrades_to_websocket;
  };
  EXPECT_TRUE(upgrades("Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"));
  EXPECT_FALSE(upgrades("Upgrade: websocket\r\n"));
  EXPECT_FALSE(upgrades("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"));
  EXPECT_FALSE(upgrades("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n"));
}

TEST(HttpRequest, IsNothingButItsHead) {
  EXPECT_FALSE(ParseHttpRequest("").ok());
  EXPECT_FALSE(ParseHttpRequest("GET / HTTP/1.1\r\nHost: a.test\r\n").ok());
  EXPECT_FALSE(ParseHttpRequest("GET / HTTP/1.1\r\nHost: a.test\r\n\r\nGET").ok());
}

}  // namespace http_request_test
}  // namespace native_runner

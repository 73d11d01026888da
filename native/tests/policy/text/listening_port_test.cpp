#include <gtest/gtest.h>

#include <string>

#include "policy/text/text.h"

namespace native_runner {
namespace {

const std::string kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

// Port 3000 is 0x0BB8.
const std::string kListening =
    "   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
    "1 1 0000000000000000 100 0 0 10 0\n";
const std::string kConnected =
    "   1: 0100007F:0BB9 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000  1000        0 "
    "2 1 0000000000000000 20 4 30 10 -1\n";
const std::string kListening6 =
    "   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000     0        0 3 1 0000000000000000 100 0 0 10 0\n";

TEST(ListeningPort, IsFoundInBothTables) {
  EXPECT_TRUE(HasListener(kHead + kConnected + kListening, 3000));
  EXPECT_TRUE(HasListener(kHead + kListening6, 8080));
  EXPECT_FALSE(HasListener(kHead + kListening6, 3000));
}

TEST(ListeningPort, IsOneThatListens) {
  EXPECT_FALSE(HasListener(kHead + kConnected, 3001));
  EXPECT_FALSE(HasListener(kHead + kConnected, 3000));  // a remote port
}

TEST(ListeningPort, NeedsAWholeLineOfThatForm) {
  EXPECT_FALSE(HasListener("", 3000));
  EXPECT_FALSE(HasListener("\n\n", 0));
  EXPECT_FALSE(HasListener(kListening.substr(0, kListening.size() - 1), 3000));
  EXPECT_FALSE(HasListener("0: 0100007F 0: 0A\n", 0));
  EXPECT_FALSE(HasListener("0: 0100007F:0BB8x 0: 0A\n", 3000));
  EXPECT_FALSE(HasListener("0: 0100007F:10BB8 0: 0A\n", 3000));
}

TEST(SocketsInUse, AreThoseOfTheProtocol) {
  const std::string text =
      "sockets: used 19\nTCP: inuse 3 orphan 0 tw 0 alloc 4 mem 0\nUDP: inuse 2 mem 0\n";
  EXPECT_EQ(SocketsInUse(text, "TCP"), 3u);
  EXPECT_EQ(SocketsInUse(text, "UDP"), 2u);
  EXPECT_EQ(SocketsInUse("TCP6: inuse 0\nUDP6: inuse 1\n", "TCP6"), 0u);
}

TEST(SocketsInUse, AreUnknownWhereTheTextDoesNotSay) {
  EXPECT_EQ(SocketsInUse("", "TCP"), std::nullopt);
  EXPECT_EQ(SocketsInUse("UDP: inuse 2", "TCP"), std::nullopt);
  EXPECT_EQ(SocketsInUse("TCP: inuse \n", "TCP"), std::nullopt);
  EXPECT_EQ(SocketsInUse("XTCP: inuse 2\n", "TCP"), std::nullopt);
}

}  // namespace
}  // namespace native_runner

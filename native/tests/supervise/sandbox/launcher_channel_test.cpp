#include "supervise/sandbox/launcher_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/order.h"
#include "tests/supervise/support/processes.h"

namespace native_runner {
namespace {

union Rights {
  cmsghdr header;
  char bytes[CMSG_SPACE(4 * sizeof(int))];
};

struct Message {
  std::string text;
  Descriptor file;
};

// The launcher's side of the socket.
Message Receive(int socket) {
  std::array<char, 4096> text{};
  iovec part{text.data(), text.size()};
  Rights rights{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &rights;
  message.msg_controllen = sizeof rights.bytes;
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  Message received;
  if (got > 0) received.text.assign(text.data(), static_cast<std::size_t>(got));
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message)) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    received.file = Descriptor(fd);
  }
  return received;
}

bool Send(int socket, const void* data, std::size_t size,
          const std::vector<int>& descriptors = {}) {
  iovec part{const_cast<void*>(data), size};
  Rights rights{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t payload = descriptors.size() * sizeof(int);
    message.msg_control = &rights;
    message.msg_controllen = CMSG_SPACE(payload);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(payload);
    std::memcpy(CMSG_DATA(header), descriptors.data(), payload);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

class LauncherChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    auto control = LauncherChannel::Open(&peer_);
    ASSERT_TRUE(control);
    control_.emplace(std::move(*control));
  }

  LauncherChannel::Received Next() {
    report_ = {};
    return control_->Receive(&report_, &pidfd_);
  }

  Descriptor peer_;
  std::optional<LauncherChannel> control_;
  Report report_;
  Descriptor pidfd_;
};

TEST_F(LauncherChannelTest, KnowsThePeersInode) {
  struct stat status {};
  ASSERT_EQ(fstat(peer_.get(), &status), 0);
  EXPECT_EQ(control_->peer_inode(), status.st_ino);
  EXPECT_NE(fcntl(control_->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(peer_.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(LauncherChannelTest, TheOrderArrivesInItsMessage) {
  const std::vector<std::string> argv = {"/bin/echo", "", "two words"};
  const auto order = EncodeOrder({}, "/workspace", argv, {});
  ASSERT_EQ(control_->SendOrder(order), LauncherChannel::Sent::kSent);

  const Message first = Receive(peer_.get());
  EXPECT_FALSE(first.file.valid());
  ASSERT_EQ(first.text.size(), 1 + order.size());
  EXPECT_EQ(first.text[0], kOrderMessage);
  EXPECT_EQ(std::memcmp(first.text.data() + 1, order.data(), order.size()), 0);
}

TEST_F(LauncherChannelTest, ALargeOrderArrivesAsAFile) {
  const std::vector<std::string> argv = {"/bin/echo", "", std::string(kMostInMessage, 'x')};
  const auto order = EncodeOrder({}, "/workspace", argv, {});
  ASSERT_EQ(control_->SendOrder(order), LauncherChannel::Sent::kSent);
  control_->SendKill();

  const Message first = Receive(peer_.get());
  EXPECT_EQ(first.text, std::string(1, kOrderMessage));
  ASSERT_TRUE(first.file.valid());
  const std::string bytes = ReadToEnd(first.file.get());
  ASSERT_EQ(bytes.size(), order.size());
  EXPECT_EQ(std::memcmp(bytes.data(), order.data(), order.size()), 0);

  const Message second = Receive(peer_.get());
  EXPECT_EQ(second.text, std::string(1, kKillMessage));
  EXPECT_FALSE(second.file.valid());
}

// A kill that comes as the command ends: its launcher exits without having read it.
TEST_F(LauncherChannelTest, ReportsArriveThoughTheirSenderDidNotReadAllThatItWasTold) {
  for (const bool is_reported : {false, true}) {
    SCOPED_TRACE(is_reported);
    SetUp();
    Report exited;
    exited.kind = ReportKind::kExited;
    exited.wait_status = 7 << 8;
    ASSERT_TRUE(Send(peer_.get(), &exited, sizeof exited));
    if (is_reported) control_->SendKill();
    peer_.Close();
    ASSERT_EQ(Next(), LauncherChannel::Received::kReport);
    EXPECT_EQ(report_.wait_status, 7 << 8);
    EXPECT_EQ(Next(), LauncherChannel::Received::kClosed);
  }
}

TEST_F(LauncherChannelTest, ReportsArriveInOrder) {
  EXPECT_EQ(Next(), LauncherChannel::Received::kNothing);
  Report ready;
  ready.kind = ReportKind::kReady;
  const Descriptor own(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  ASSERT_TRUE(Send(peer_.get(), &ready, sizeof ready, {own.get()}));
  Report exited;
  exited.kind = ReportKind::kExited;
  exited.wait_status = 7 << 8;
  exited.user_cpu_us = 123;
  exited.peak_memory_bytes = 456;
  ASSERT_TRUE(Send(peer_.get(), &exited, sizeof exited));

  ASSERT_EQ(Next(), LauncherChannel::Received::kReport);
  EXPECT_EQ(report_.kind, ReportKind::kReady);
  ASSERT_TRUE(pidfd_.valid());
  EXPECT_NE(fcntl(pidfd_.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(syscall(SYS_pidfd_send_signal, pidfd_.get(), 0, nullptr, 0), 0) << "not a pidfd";

  pidfd_.Close();
  ASSERT_EQ(Next(), LauncherChannel::Received::kReport);
  EXPECT_EQ(report_.kind, ReportKind::kExited);
  EXPECT_EQ(report_.wait_status, 7 << 8);
  EXPECT_EQ(report_.user_cpu_us, 123u);
  EXPECT_EQ(report_.peak_memory_bytes, 456u);
  EXPECT_FALSE(pidfd_.valid());
  EXPECT_EQ(Next(), LauncherChannel::Received::kNothing);
}

TEST_F(LauncherChannelTest, EndOfFileComesAfterTheLastReport) {
  Report report;
  ASSERT_TRUE(Send(peer_.get(), &report, sizeof report));
  peer_.Close();
  EXPECT_EQ(Next(), LauncherChannel::Received::kReport);
  EXPECT_EQ(Next(), LauncherChannel::Received::kClosed);
  EXPECT_EQ(Next(), LauncherChannel::Received::kClosed);
}

TEST_F(LauncherChannelTest, EndOfFileComesWithTheLastHolder) {
  Descriptor copy(fcntl(peer_.get(), F_DUPFD_CLOEXEC, 0));
  peer_.Close();
  EXPECT_EQ(Next(), LauncherChannel::Received::kNothing);
  copy.Close();
  EXPECT_EQ(Next(), LauncherChannel::Received::kClosed);
}

TEST_F(LauncherChannelTest, SendingToNobodyIsNoSignal) {
  peer_.Close();
  const std::vector<std::string> argv = {"true"};
  EXPECT_EQ(control_->SendOrder(EncodeOrder({}, "", argv, {})), LauncherChannel::Sent::kPeerGone);
  control_->SendKill();
}

TEST_F(LauncherChannelTest, ASignalIsTwoBytes) {
  control_->SendSignal(15);
  EXPECT_EQ(Receive(peer_.get()).text, std::string({kSignalMessage, 15}));
  peer_.Close();
  control_->SendSignal(15);
}

TEST_F(LauncherChannelTest, ALeaseIsAMoment) {
  constexpr std::uint64_t kUntil = 0x0102030405060708;
  control_->SendLease(kUntil);
  const std::string text = Receive(peer_.get()).text;
  ASSERT_EQ(text.size(), 1 + sizeof kUntil);
  EXPECT_EQ(text[0], kLeaseMessage);
  std::uint64_t until = 0;
  std::memcpy(&until, &text[1], sizeof until);
  EXPECT_EQ(until, kUntil);
  peer_.Close();
  control_->SendLease(kUntil);
}

TEST_F(LauncherChannelTest, AKillThatFindsNoRoomIsTheEnd) {
  for (int i = 0; i < 10'000; ++i)
    control_->SendLease(1);
  control_->SendKill();
  std::size_t leases = 0;
  for (std::string text = Receive(peer_.get()).text; !text.empty();
       text = Receive(peer_.get()).text) {
    ASSERT_EQ(text[0], kLeaseMessage);
    ++leases;
  }
  EXPECT_GT(leases, 100u);
  EXPECT_LT(leases, 10'000u);
  char byte = 0;
  EXPECT_EQ(recv(peer_.get(), &byte, 1, MSG_DONTWAIT), 0);
  Report report;
  ASSERT_TRUE(Send(peer_.get(), &report, sizeof report));
  EXPECT_EQ(Next(), LauncherChannel::Received::kReport);
}

TEST_F(LauncherChannelTest, ClosingIsSeenByThePeer) {
  control_->Close();
  char byte = 0;
  EXPECT_EQ(recv(peer_.get(), &byte, 1, 0), 0);
}

TEST_F(LauncherChannelTest, WhatIsNoReportEndsTheTalk) {
  ASSERT_TRUE(Send(peer_.get(), "nonsense", 8));
  EXPECT_EQ(Next(), LauncherChannel::Received::kClosed);
}

TEST_F(LauncherChannelTest, MoreDescriptorsThanPromisedAreNotKept) {
  const int before = CountDescriptors();
  Report report;
  const std::vector<int> several(3, peer_.get());
  ASSERT_TRUE(Send(peer_.get(), &report, sizeof report, several));
  EXPECT_EQ(Next(), LauncherChannel::Received::kReport);
  pidfd_.Close();
  EXPECT_EQ(CountDescriptors(), before);
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

#include "supervise/sandbox/launcher_channel.h"
#include "supervise/sandbox/sandbox.h"
#include "tests/supervise/support/processes.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

struct Socket {
  Descriptor peer;
  LauncherChannel control;
};

Socket OpenSocket() {
  Descriptor peer;
  auto control = LauncherChannel::Open(&peer);
  EXPECT_TRUE(control);
  return {std::move(peer), std::move(*control)};
}

// Says "up" once its own children are there, then waits. Holds `socket` as `number`.
Result<Child> Holder(const Descriptor& socket, int number, const std::string& script) {
  auto up = MakePipe();
  EXPECT_TRUE(up);
  SpawnOptions order = ShellOrder(script);
  order.inherited = {{socket.get(), number}};
  order.Give(std::move(up->write), STDOUT_FILENO);
  auto child = Child::Spawn(std::move(order));
  char byte = 0;
  EXPECT_EQ(read(up->read.get(), &byte, 1), 1);
  return child;
}

constexpr const char* kWait = "echo up; exec sleep 60 >&-";
constexpr const char* kWaitWithAChild = "sleep 60 & echo up; wait";

TEST(KillSocketHolders, KillsThoseThatHoldItAsTheControlDescriptorAndNoOthers) {
  Socket wanted = OpenSocket();
  Socket other = OpenSocket();
  auto holder = Holder(wanted.peer, kControlDescriptor, kWait);
  auto elsewhere = Holder(wanted.peer, kControlDescriptor + 1, kWait);
  auto bystander = Holder(other.peer, kControlDescriptor, kWait);
  ASSERT_TRUE(holder && elsewhere && bystander);
  const KilledAtEnd ends[] = {KilledAtEnd(&*holder), KilledAtEnd(&*elsewhere),
                              KilledAtEnd(&*bystander)};

  EXPECT_EQ(KillSocketHolders(wanted.control.peer_inode()).size(), 1U);
  ASSERT_TRUE(WaitForExit(holder->pidfd()));
  EXPECT_EQ(holder->Reap()->value, SIGKILL);
  EXPECT_FALSE(WaitForExit(elsewhere->pidfd(), 50));
  EXPECT_FALSE(WaitForExit(bystander->pidfd(), 0));
  EXPECT_TRUE(KillSocketHolders(wanted.control.peer_inode()).empty());
}

TEST(KillSocketHolders, FindsChildrenThatLostTheirParent) {
  Socket socket = OpenSocket();
  auto holder = Holder(socket.peer, kControlDescriptor, kWaitWithAChild);
  ASSERT_TRUE(holder);
  socket.peer.Close();
  const KilledAtEnd end(&*holder);
  holder->Signal(SIGKILL);
  ASSERT_TRUE(WaitForExit(holder->pidfd()));

  Report report;
  Descriptor pidfd;
  EXPECT_EQ(socket.control.Receive(&report, &pidfd), LauncherChannel::Received::kNothing);
  const auto killed = KillSocketHolders(socket.control.peer_inode());
  ASSERT_EQ(killed.size(), 1U);
  bool closed = false;
  for (int turn = 0; turn < Slow(2'000) && !closed; ++turn) {
    closed = socket.control.Receive(&report, &pidfd) == LauncherChannel::Received::kClosed;
    if (!closed) usleep(1'000);
  }
  EXPECT_TRUE(closed) << "none that is not dying has it";
  EXPECT_TRUE(WaitForExit(killed[0].get())) << "the proof that it is gone";
}

TEST(KillSocketHolders, NeverHitsThisProcess) {
  Socket socket = OpenSocket();
  const Descriptor spare(dup(kControlDescriptor));  // whatever the test runner has there
  ASSERT_EQ(dup2(socket.peer.get(), kControlDescriptor), kControlDescriptor);
  EXPECT_TRUE(KillSocketHolders(socket.control.peer_inode()).empty());
  if (spare.valid()) {
    dup2(spare.get(), kControlDescriptor);
  } else {
    close(kControlDescriptor);
  }
}

constexpr int kNoNamespace = 77;

// In a pid namespace of its own, but with our /proc: 0 when the holder was killed there.
int KillInside() {
  Socket socket = OpenSocket();
  auto holder = Holder(socket.peer, kControlDescriptor, kWait);
  if (!holder) return 1;
  const KilledAtEnd end(&*holder);
  if (getpid() != 1 || KillSocketHolders(socket.control.peer_inode()).size() != 1) return 2;
  if (!WaitForExit(holder->pidfd())) return 3;
  return holder->Reap()->value == SIGKILL ? 0 : 4;
}

int ExitCodeOf(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(KillSocketHolders, FindsThemInTheProcOfAnOuterPidNamespace) {
  const pid_t outside = fork();
  if (outside == 0) {
    const bool moved = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
    if (!moved) _exit(kNoNamespace);
    const pid_t inside = fork();
    if (inside == 0) _exit(KillInside());
    _exit(ExitCodeOf(inside) & 0x7f);
  }
  const int code = ExitCodeOf(outside);
  if (code == kNoNamespace) GTEST_SKIP() << "no pid namespace can be made here";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace native_runner

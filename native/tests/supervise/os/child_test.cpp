#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "supervise/os/process.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

struct Finished {
  std::string out;
  ExitStatus status;
};

// Runs to the end; stdin is /dev/null, stdout is what comes back.
Finished Finish(SpawnOptions order) {
  auto pipe = MakePipe();
  auto null_device = OpenPath("/dev/null", O_RDONLY);
  EXPECT_TRUE(pipe && null_device);
  order.Give(std::move(*null_device), STDIN_FILENO);
  order.Give(std::move(pipe->write), STDOUT_FILENO);
  auto child = Child::Spawn(std::move(order));
  if (!child) {
    ADD_FAILURE() << child.error().message;
    return {};
  }
  Finished finished;
  finished.out = ReadToEnd(pipe->read.get());
  EXPECT_TRUE(WaitForExit(child->pidfd()));
  if (const auto status = child->Reap()) finished.status = *status;
  return finished;
}

SpawnOptions ProgramOrder(const std::string& path, std::vector<std::string> argv) {
  SpawnOptions order;
  order.path = path;
  order.argv = std::move(argv);
  return order;
}

Descriptor File(const std::string& text) {
  auto file = MemoryFile("test", text.data(), text.size(), false);
  EXPECT_TRUE(file);
  return std::move(*file);
}

std::string Show(int number) {
  return "cat /proc/self/fd/" + std::to_string(number) + "; ";
}

TEST(Child, ReportsItsExitCode) {
  for (const int code : {0, 1, 7, 255}) {
    const Finished finished = Finish(ShellOrder("exit " + std::to_string(code)));
    EXPECT_FALSE(finished.status.signaled);
    EXPECT_EQ(finished.status.value, code);
  }
}

TEST(Child, ReportsTheSignalThatEndedIt) {
  for (const int signal : {SIGTERM, SIGKILL, SIGSEGV}) {
    const Finished finished =
        Finish(ShellOrder("ulimit -c 0; kill -" + std::to_string(signal) + " $$"));
    EXPECT_TRUE(finished.status.signaled);
    EXPECT_EQ(finished.status.value, signal);
  }
}

TEST(Child, IsReapedOnceItHasExited) {
  auto child = Child::Spawn(ProgramOrder("/bin/sleep", {"sleep", "60"}));
  ASSERT_TRUE(child);
  const KilledAtEnd end(&*child);
  EXPECT_EQ(child->Reap(), std::nullopt);
  EXPECT_TRUE(IsAlive(child->pid()));
  child->Signal(SIGTERM);
  ASSERT_TRUE(WaitForExit(child->pidfd()));
  const auto status = child->Reap();
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->signaled);
  EXPECT_EQ(status->value, SIGTERM);
  EXPECT_EQ(waitpid(child->pid(), nullptr, 0), -1);  // it was waited for
  EXPECT_EQ(child->Reap()->value, SIGTERM);          // and stays what it was
  child->Signal(SIGKILL);                            // nobody is hit
}

// One child each way of spawning: the guarded one makes no mounts where it is not permitted.
class ChildOfEachKind : public testing::TestWithParam<bool> {
 protected:
  SpawnOptions Order(const std::string& script) {
    SpawnOptions order = ShellOrder(script);
    order.guards_devices = GetParam();
    return order;
  }
};

TEST_P(ChildOfEachKind, GetsItsDescriptorsAndStatus) {
  SpawnOptions order = Order(Show(3) + Show(9) + "exit 7");
  order.Give(File("three "), 3);
  order.Give(File("nine"), 9);
  const Finished finished = Finish(std::move(order));
  EXPECT_EQ(finished.out, "three nine");
  EXPECT_EQ(finished.status.value, 7);
}

TEST_P(ChildOfEachKind, HasNoSignalsBlockedOrIgnored) {
  const auto ignored = signal(SIGPIPE, SIG_IGN);
  const Finished finished = Finish(Order("sed -nE 's/^Sig(Blk|Ign):\\t//p' /proc/self/status"));
  signal(SIGPIPE, ignored);
  const std::string none = "0000000000000000\n0000000000000000\n";
  // glibc's posix_spawn(3) ignores the two signals that are its own, 32 and 33.
  const std::string own = "0000000000000000\n0000000180000000\n";
  EXPECT_TRUE(finished.out == none || (!GetParam() && finished.out == own)) << finished.out;
}

TEST_P(ChildOfEachKind, LeadsASessionAndHasNoEnvironment) {
  // Field 6 of proc_pid_stat(5) is the session.
  const Finished finished =
      Finish(Order("read -r pid name state parent group session rest < /proc/self/stat; "
                   "[ $session = $$ ] && wc -c < /proc/$$/environ"));
  EXPECT_EQ(finished.out, "0\n");
}

TEST_P(ChildOfEachKind, FailsWhereTheProgramIsMissing) {
  SpawnOptions order = Order("");
  order.path = "/nonexistent/program";
  const auto child = Child::Spawn(std::move(order));
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::kSetup);
}

INSTANTIATE_TEST_SUITE_P(Child, ChildOfEachKind, testing::Bool());

TEST(Child, IsKeptFromTheHostsDeviceNodes) {
  if (geteuid() != 0) GTEST_SKIP() << "only root owns the device nodes";
  if (Finish(ShellOrder("unshare -m true || echo no")).out == "no\n")
    GTEST_SKIP() << "no mount namespaces here";
  // The modes that they have already: where it is not refused, nothing changes.
  const std::string script =
      "for node in null zero full random urandom tty; do "
      "chmod --reference=/dev/$node /dev/$node 2> /dev/null && echo $node; done; "
      "echo text > /dev/null && echo written";
  EXPECT_EQ(Finish(ShellOrder(script)).out, "null\nzero\nfull\nrandom\nurandom\ntty\nwritten\n");
  SpawnOptions guarded = ShellOrder(script);
  guarded.guards_devices = true;
  EXPECT_EQ(Finish(std::move(guarded)).out, "written\n");
}

TEST(Child, PlacesDescriptors) {
  SpawnOptions order = ShellOrder(Show(3) + Show(4) + Show(9));
  order.Give(File("three "), 3);
  order.Give(File("four "), 4);
  order.Give(File("nine"), 9);
  EXPECT_EQ(Finish(std::move(order)).out, "three four nine");
}

TEST(Child, PlacesDescriptorsWhoseNumbersCollide) {
  const Descriptor first = File("first ");
  const Descriptor second = File("second ");
  const Descriptor third = File("third ");
  const int a = first.get();
  const int b = second.get();
  const int c = third.get();
  ASSERT_LT(c, 16) << "low numbers are what this is about";
  // The descriptors form a ring, so that every order of moves overwrites one that is still needed.
  SpawnOptions order = ShellOrder(Show(a) + Show(b) + Show(c));
  order.inherited = {{a, b}, {b, c}, {c, a}};
  EXPECT_EQ(Finish(std::move(order)).out, "third first second ");
  EXPECT_TRUE(first.valid() && second.valid() && third.valid());
  EXPECT_GE(fcntl(a, F_GETFD), 0) << "what the order does not own stays open";
}

// The program is found by its descriptor when all others are in their places.
TEST(Child, FindsItsProgramWhoseNumberAnotherGets) {
  auto shell = OpenPath("/bin/sh", O_PATH | O_CLOEXEC);
  ASSERT_TRUE(shell);
  SpawnOptions order = ShellOrder("");
  order.path = "/proc/self/fd/" + std::to_string(shell->get());
  order.argv.back() = "for n in $(seq 3 99); do cat /proc/self/fd/$n; done";
  std::string expected;
  for (int number = 3; number < 100; ++number) {
    expected += std::to_string(number) + " ";
    order.Give(File(std::to_string(number) + " "), number);
  }
  EXPECT_EQ(Finish(std::move(order)).out, expected);
  EXPECT_GE(fcntl(shell->get(), F_GETFD), 0);
}

TEST(Child, PlacesADescriptorAtItsOwnNumberAndTwice) {
  const Descriptor file = File("text ");
  const int own = file.get();
  ASSERT_LT(own, 16);
  SpawnOptions order = ShellOrder(Show(own) + Show(11));
  order.inherited = {{own, own}, {own, 11}};
  EXPECT_EQ(Finish(std::move(order)).out, "text text ");
}

TEST(Child, GetsNothingElse) {
  const Descriptor secret(fcntl(File("secret").get(), F_DUPFD_CLOEXEC, 40));
  const std::string number = std::to_string(secret.get());
  EXPECT_EQ(Finish(ShellOrder("[ -e /proc/self/fd/" + number + " ] || echo none")).out, "none\n");

  SpawnOptions given = ShellOrder(Show(secret.get() + 1));
  given.inherited = {{secret.get(), secret.get() + 1}};
  EXPECT_EQ(Finish(std::move(given)).out, "secret") << "the probe itself must work";
}

TEST(Child, ClosesWhatTheOrderOwns) {
  const int before = CountDescriptors();
  SpawnOptions order = ShellOrder("exit 0");
  order.Give(File("a"), 3);
  order.Give(File("b"), 4);
  Finish(std::move(order));
  EXPECT_EQ(CountDescriptors(), before);
}

TEST(Child, HasAnEmptyEnvironment) {
  ASSERT_EQ(setenv("CHILD_TEST_SECRET", "1", 1), 0);
  EXPECT_EQ(Finish(ProgramOrder("/usr/bin/env", {"env"})).out, "");
  unsetenv("CHILD_TEST_SECRET");
}

// The masks of /proc/self/status, without glibc's own two signals.
std::uint64_t MaskOf(const std::string& status, const std::string& name) {
  const std::size_t at = status.find(name + ":");
  if (at == std::string::npos) return UINT64_MAX;
  return std::stoull(status.substr(at + name.size() + 1), nullptr, 16) & 0x7fff'ffffU;
}

TEST(Child, HasDefaultSignalsWhateverTheHostDid) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  for (const int signal : {SIGUSR1, SIGTERM, SIGPIPE})
    sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old_pipe = std::signal(SIGPIPE, SIG_IGN);
  const auto old_interrupt = std::signal(SIGINT, SIG_IGN);
  std::ostringstream ours;
  ours << std::ifstream("/proc/thread-self/status").rdbuf();
  const std::string theirs = Finish(ProgramOrder("/bin/cat", {"cat", "/proc/self/status"})).out;
  std::signal(SIGPIPE, old_pipe);
  std::signal(SIGINT, old_interrupt);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);

  EXPECT_NE(MaskOf(ours.str(), "SigBlk"), 0u) << "the probe itself must see some";
  EXPECT_NE(MaskOf(ours.str(), "SigIgn"), 0u);
  EXPECT_EQ(MaskOf(theirs, "SigBlk"), 0u);
  EXPECT_EQ(MaskOf(theirs, "SigIgn"), 0u);
}

TEST(Child, LeadsASessionOfItsOwn) {
  auto child = Child::Spawn(ProgramOrder("/bin/sleep", {"sleep", "60"}));
  ASSERT_TRUE(child);
  const KilledAtEnd end(&*child);
  EXPECT_EQ(getsid(child->pid()), child->pid());
  EXPECT_EQ(getpgid(child->pid()), child->pid());
}

TEST(Child, ReportsTheTimeItUsed) {
  const Finished busy = Finish(ShellOrder("i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"));
  EXPECT_GT(busy.status.user_cpu_us + busy.status.system_cpu_us, 10'000u);
  const Finished idle = Finish(ProgramOrder("/bin/sleep", {"sleep", "0.1"}));
  EXPECT_LT(idle.status.user_cpu_us + idle.status.system_cpu_us, 100'000u);
}

TEST(Child, WhatCannotStartIsAnErrorAndLeavesNothing) {
  const TempDirectory directory;
  const std::string plain = directory.Write("plain", "text", 0644);
  const int descriptors = CountDescriptors();
  for (const std::string& path : {directory.Path("missing"), plain, directory.path()}) {
    SpawnOptions order = ProgramOrder(path, {"shown-name"});
    order.Give(File("a"), 3);
    const auto child = Child::Spawn(std::move(order));
    ASSERT_FALSE(child) << path;
    EXPECT_EQ(child.error().code, ErrorCode::kSetup);
    EXPECT_EQ(child.error().message.find("posix_spawn shown-name: "), 0u) << child.error().message;
  }
  EXPECT_EQ(CountDescriptors(), descriptors);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Child, IsKnownToBeGoneThoughTheHostIgnoresSigchld) {
  const auto old = std::signal(SIGCHLD, SIG_IGN);  // the kernel reaps by itself then
  auto child = Child::Spawn(ProgramOrder("/bin/sleep", {"sleep", "0.05"}));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->Reap(), std::nullopt);
  EXPECT_TRUE(WaitForExit(child->pidfd()));
  EXPECT_TRUE(child->Reap());
  std::signal(SIGCHLD, old);
}

}  // namespace
}  // namespace native_runner

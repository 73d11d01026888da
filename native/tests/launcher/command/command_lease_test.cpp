// A lease that the order gives the command: the launcher keeps it, whatever becomes of the host.

#include <csignal>
#include <ctime>

#include "tests/launcher/support/launcher_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kLong = 600'000;  // ms

std::uint64_t After(std::uint64_t milliseconds) {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec) + milliseconds * 1'000'000;
}

std::string Until(std::uint64_t until_ns) {
  return kLeaseMessage + std::string(reinterpret_cast<const char*>(&until_ns), sizeof until_ns);
}

class LeaseTest : public LauncherTest {
 protected:
  static OrderSpec Leased(const std::string& script, std::uint64_t until_ns) {
    OrderSpec spec{.argv = {"/bin/sh", "-c", script}};
    spec.header.lease_until_ns = until_ns;
    return spec;
  }

  static void ExpectExpired(const RunResult& result) {
    ASSERT_EQ(result.last().kind, ReportKind::kExited) << result.last().text << result.err;
    EXPECT_EQ(result.last().lease_expired, 1u);
    EXPECT_EQ(result.last().error, 0);
  }
  static void ExpectExit(const RunResult& result, int code) {
    ExpectExited(result, code);
    EXPECT_EQ(result.last().lease_expired, 0u);
  }
};

TEST_P(LeaseTest, EndsTheCommand) {
  LauncherHost host(GetParam());
  host.SendOrder(Leased("echo up; sleep 1000", After(Slow(1000))));
  const RunResult result = host.Finish();
  ExpectExpired(result);
  EXPECT_EQ(result.out, "up\n");
  EXPECT_EQ(result.last().killed, 1u);
  EXPECT_EQ(WTERMSIG(result.last().wait_status), SIGKILL);
}

TEST_P(LeaseTest, EndsAllOfItsTree) {
  LauncherHost host(GetParam());
  const char* const script =
      "setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & sleep 1000' &)\n"
      "for i in 1 2 3 4; do sleep 1000 & kill -STOP $!; done\n"
      "echo up; sleep 1000";
  host.SendOrder(Leased(script, After(Slow(1000))));
  ExpectExpired(host.Finish());
  EXPECT_TRUE(host.OutputEnds(10'000));
}

TEST_P(LeaseTest, IsNothingToACommandThatEndsBefore) {
  LauncherHost host(GetParam());
  host.SendOrder(Leased("echo up; exit 7", After(kLong)));
  ExpectExit(host.Finish(), 7);
}

TEST_P(LeaseTest, IsExtendedByTheHost) {
  LauncherHost host(GetParam());
  host.SendOrder(Leased("echo up; sleep 2; exit 7", After(Slow(1000))));
  host.SendText(Until(After(Slow(1500))));
  host.SendText(Until(After(kLong)));
  ExpectExit(host.Finish(), 7);
}

TEST_P(LeaseTest, EndsWhenTheHostHasSaidLast) {
  LauncherHost host(GetParam());
  host.SendOrder(Leased("echo up; sleep 1000", After(kLong)));
  EXPECT_EQ(host.ReadOut(3), "up\n");
  host.SendText(Until(After(50)));
  ExpectExpired(host.Finish());
}

TEST_P(LeaseTest, ThatHasEndedStartsNothing) {
  for (const std::uint64_t until_ns : {std::uint64_t{0}, std::uint64_t{1}, After(0)}) {
    LauncherHost host(GetParam());
    host.SendOrder(Leased("echo up", until_ns));
    const RunResult result = host.Finish();
    ExpectExpired(result);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.last().killed, 0u);
  }
}

// It was extended in time, whenever the launcher has come to read of it.
TEST(LeaseBeforeTheStart, CountsWithWhatTheHostHasSaidMeanwhile) {
  LauncherHost host(Mode::kSubreaper);
  ASSERT_TRUE(host.WaitStanding());
  ASSERT_EQ(kill(host.pid(), SIGSTOP), 0);
  OrderSpec spec{.argv = {"/bin/sh", "-c", "exit 7"}};
  spec.header.lease_until_ns = 1;
  host.SendOrder(spec);
  host.SendText(Until(After(0)));
  host.SendText(Until(After(kLong)));
  ASSERT_EQ(kill(host.pid(), SIGCONT), 0);
  const RunResult result = host.Finish();
  ExpectExited(result, 7);
  EXPECT_EQ(result.last().lease_expired, 0u);
}

TEST_P(LeaseTest, IsNotForACommandWithout) {
  for (const std::string& message : {Until(After(kLong)), std::string("l"), std::string("l1234567"),
                                     std::string("l123456789")}) {
    LauncherHost host(GetParam());
    OrderSpec spec{.argv = {"/bin/sh", "-c", "echo up; sleep 1000"}};
    host.SendOrder(spec);
    EXPECT_EQ(host.ReadOut(3), "up\n");
    host.SendText(message);  // as anything that is not known: a kill
    const RunResult result = host.Finish();
    ASSERT_EQ(result.last().kind, ReportKind::kExited);
    EXPECT_TRUE(WIFSIGNALED(result.last().wait_status));
    EXPECT_EQ(result.last().lease_expired, 0u);
  }
}

TEST_P(LeaseTest, AMessageOfAnotherLengthIsAKill) {
  for (const char* const message : {"l", "l1234567", "l123456789"}) {
    LauncherHost host(GetParam());
    host.SendOrder(Leased("echo up; sleep 1000", After(kLong)));
    EXPECT_EQ(host.ReadOut(3), "up\n");
    host.SendText(message);
    const RunResult result = host.Finish();
    ASSERT_EQ(result.last().kind, ReportKind::kExited) << message;
    EXPECT_TRUE(WIFSIGNALED(result.last().wait_status)) << message;
    EXPECT_EQ(result.last().lease_expired, 0u) << message;
  }
}

INSTANTIATE_LAUNCHER_MODES(LeaseTest);

}  // namespace
}  // namespace native_runner

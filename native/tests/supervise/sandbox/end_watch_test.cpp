#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "supervise/sandbox/sandbox.h"
#include "tests/supervise/support/processes.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

using Seen = EndWatch::Seen;

class EndWatchTest : public testing::Test {
 protected:
  // Looks until it has seen that, or some seconds have passed.
  Seen Expect(const Child& child, Seen wanted) {
    Seen seen = watch_.Look(child.pidfd());
    for (int turn = 0; turn < Slow(1'000) && seen != wanted; ++turn) {
      usleep(10'000);
      seen = watch_.Look(child.pidfd());
    }
    return seen;
  }
  EndWatch watch_;
};

TEST_F(EndWatchTest, OneThatIsStoppedIsSilentAndGoesOnWhenItIsWoken) {
  auto child = Child::Spawn(ShellOrder("while :; do :; done"));
  ASSERT_TRUE(child);
  const KilledAtEnd end(&*child);
  EXPECT_EQ(Expect(*child, Seen::kWorking), Seen::kWorking);
  child->Signal(SIGSTOP);
  EXPECT_EQ(Expect(*child, Seen::kSilent), Seen::kSilent);
  child->Signal(SIGCONT);
  EXPECT_EQ(Expect(*child, Seen::kWorking), Seen::kWorking);
}

TEST_F(EndWatchTest, OneThatSleepsIsWorkingIfItHasMovedSince) {
  auto idle = Child::Spawn(ShellOrder("exec sleep 1000"));
  ASSERT_TRUE(idle);
  const KilledAtEnd end(&*idle);
  EXPECT_EQ(watch_.Look(idle->pidfd()), Seen::kWorking);
  EXPECT_EQ(Expect(*idle, Seen::kSilent), Seen::kSilent);
  EXPECT_EQ(watch_.Look(idle->pidfd()), Seen::kSilent);
  auto busy = Child::Spawn(ShellOrder("while :; do sleep 0.001; done"));
  ASSERT_TRUE(busy);
  const KilledAtEnd also(&*busy);
  for (int time = 0; time < 5; ++time) {  // however seldom it gets a processor
    usleep(20'000);
    EXPECT_EQ(Expect(*busy, Seen::kWorking), Seen::kWorking);
  }
}

TEST_F(EndWatchTest, WhileSomethingBelowItDiesThatIsSeen) {
  auto child = Child::Spawn(ShellOrder("head -c 1G /dev/zero | tail -c 1G | sleep 1000"));
  ASSERT_TRUE(child);
  const KilledAtEnd end(&*child);
  pid_t tail = 0;
  for (int turn = 0; turn < Slow(6'000) && tail == 0; ++turn) {  // until it holds all and writes
    usleep(10'000);
    const auto children = ChildrenOf(child->pid());
    for (const pid_t each : children) {
      std::ifstream file("/proc/" + std::to_string(each) + "/statm");
      std::size_t size = 0;
      std::size_t resident = 0;
      if (file >> size >> resident && resident > 250'000) tail = each;
    }
  }
  ASSERT_NE(tail, 0);
  child->Signal(SIGSTOP);
  EXPECT_EQ(Expect(*child, Seen::kSilent), Seen::kSilent);
  // It dies after we have looked, also where there is one processor for both.
  const sched_param none{};
  ASSERT_EQ(sched_setscheduler(tail, SCHED_IDLE, &none), 0);
  kill(tail, SIGKILL);
  EXPECT_EQ(watch_.Look(child->pidfd()), Seen::kDying);
  EXPECT_EQ(Expect(*child, Seen::kSilent), Seen::kSilent) << "it is dead, and nobody reaps it";
  kill(-child->pid(), SIGKILL);  // the others: it leads a session of its own
}

TEST_F(EndWatchTest, OneThatIsGoneIsSilent) {
  auto child = Child::Spawn(ShellOrder("exit 0"));
  ASSERT_TRUE(child);
  ASSERT_TRUE(WaitForExit(child->pidfd()));
  child->Reap();
  EXPECT_EQ(watch_.Look(child->pidfd()), Seen::kSilent);
}

}  // namespace
}  // namespace native_runner

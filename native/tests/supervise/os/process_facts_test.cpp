#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "supervise/os/process.h"

namespace native_runner {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 30U;

TEST(ProcessFacts, TellWhatAProcessIsDoing) {
  const auto own = LookAtProcess(getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->parent, getppid());
  EXPECT_EQ(own->state, 'R');
  EXPECT_FALSE(own->is_dying);
  EXPECT_EQ(LookAtProcess(1 << 30), std::nullopt);
}

TEST(ProcessFacts, FindAllBelowAProcess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) pause();
    static_cast<void>(!write(ends[1], &grandchild, sizeof grandchild));
    pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  const auto found = DescendantsOf(getpid(), 100);
  EXPECT_NE(std::find(found.begin(), found.end(), child), found.end());
  EXPECT_NE(std::find(found.begin(), found.end(), grandchild), found.end());
  EXPECT_EQ(std::find(found.begin(), found.end(), getpid()), found.end());
  EXPECT_EQ(DescendantsOf(grandchild, 100).size(), 0u);
  EXPECT_LE(DescendantsOf(getpid(), 1).size(), found.size());
  kill(grandchild, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

// The kernel gives a gigabyte back in a hundred milliseconds or more; until then it is no zombie.
// Sets whether a killed process was seen dying: it may be dead before the first look.
void LookAtOneThatDies(bool* has_been_dying) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    void* const memory = mmap(nullptr, kLarge, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    const char done = memory == MAP_FAILED ? 'n' : 'y';
    static_cast<void>(!write(ends[1], &done, 1));
    for (;;)
      pause();
  }
  char done = 0;
  ASSERT_EQ(read(ends[0], &done, 1), 1);
  ASSERT_EQ(done, 'y');
  EXPECT_FALSE(LookAtProcess(child)->is_dying);
  kill(child, SIGKILL);
  for (;;) {
    const auto facts = LookAtProcess(child);
    ASSERT_TRUE(facts) << "nobody has reaped it";
    if (facts->state == 'Z') break;
    *has_been_dying |= facts->is_dying;
    EXPECT_TRUE(facts->is_dying) << facts->state;
  }
  siginfo_t info{};  // under a sanitizer it has other threads, which may die after the first
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(LookAtProcess(child)->is_dying) << "it is dead";
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(ProcessFacts, OneThatWasKilledIsDyingUntilItIsDead) {
  constexpr int kMostTries = 50;
  bool has_been_dying = false;
  for (int left = kMostTries; left > 0 && !has_been_dying && !testing::Test::HasFailure(); --left)
    LookAtOneThatDies(&has_been_dying);
  EXPECT_TRUE(has_been_dying);
}

TEST(ProcFile, ReadsNumbers) {
  EXPECT_EQ(LeadingNumbers("1 22\t3 x 4"), (std::vector<std::uint64_t>{1, 22, 3}));
  EXPECT_EQ(LeadingNumbers(" -1 7"), (std::vector<std::uint64_t>{0, 7}));
  EXPECT_EQ(LeadingNumbers("ff", 16), (std::vector<std::uint64_t>{255}));
  EXPECT_TRUE(LeadingNumbers("").empty());
  EXPECT_EQ(NumbersInLine("/proc/self/status", "Pid:"),
            (std::vector<std::uint64_t>{static_cast<std::uint64_t>(getpid())}));
  EXPECT_TRUE(NumbersInLine("/proc/self/status", "NoSuchLine:").empty());
  EXPECT_TRUE(NumbersInLine("/proc/no-such", "Pid:").empty());
}

}  // namespace
}  // namespace native_runner

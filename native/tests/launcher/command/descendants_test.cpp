// Both ways of finding descendants, on the test's own children.

#include "launcher/command/descendants.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "launcher/kernel/process.h"
#include "tests/launcher/support/launcher_host.h"

namespace native_runner {
namespace {

using Source = Descendants::Source;

class DescendantsTest : public testing::TestWithParam<Source> {
 public:
  ~DescendantsTest() override {
    for (const pid_t pid : pids_)
      kill(pid, SIGKILL);
    pclose(shell_);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }

 protected:
  // A shell with two children, one of which has a child of its own; prints four pids.
  DescendantsTest() {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // as the launcher is: orphans come to us
    shell_ = popen(
        "sleep 20 & echo $!; (sleep 20 & echo $!; exec sleep 20) & echo $!; echo $$; wait", "r");
    int pid = 0;
    while (pids_.size() < 4 && fscanf(shell_, "%d", &pid) == 1)
      pids_.insert(pid);
  }
  static std::set<pid_t> All(const Descendants& found) {
    std::set<pid_t> pids;
    for (std::size_t i = 0; i < found.size(); ++i)
      pids.insert(found[i]);
    return pids;
  }

  // A process is waited for once it is ours: an orphan comes to us when its parent has died.
  static bool IsDeadSoon(pid_t pid) {
    for (int tries = 0; tries < 1000; ++tries) {
      siginfo_t info{};
      if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0) return true;
      usleep(10'000);
    }
    return false;
  }

  FILE* shell_;
  std::set<pid_t> pids_;
};

TEST_P(DescendantsTest, AreFoundOnce) {
  Descendants found(GetParam());
  EXPECT_EQ(found.Walk(0), pids_.size());
  EXPECT_EQ(All(found), pids_);
  EXPECT_EQ(found.size(), pids_.size());
  EXPECT_EQ(found.Walk(0), 0u) << "none of them is new";
  EXPECT_EQ(All(found), pids_);
}

TEST_P(DescendantsTest, AreStoppedAsTheyAreMetAndThenKilled) {
  Descendants found(GetParam());
  EXPECT_EQ(found.Walk(SIGSTOP), pids_.size());
  int status = 0;
  const pid_t shell = waitpid(-1, &status, WUNTRACED);
  EXPECT_TRUE(pids_.contains(shell));
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(found.SignalAll(SIGKILL), pids_.size());
  EXPECT_EQ(waitpid(shell, &status, 0), shell);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_P(DescendantsTest, TheDeadDoNotCount) {
  Descendants found(GetParam());
  found.Walk(SIGKILL);
  for (const pid_t pid : pids_)
    kill(pid, SIGKILL);
  for (const pid_t pid : pids_)
    EXPECT_TRUE(IsDeadSoon(pid));
  found.Walk(0);
  EXPECT_EQ(found.SignalAll(0), 0u);
}

INSTANTIATE_TEST_SUITE_P(Sources, DescendantsTest,
                         testing::Values(Source::kChildrenFiles, Source::kStatFiles),
                         [](const auto& test) {
                           return test.param == Source::kStatFiles ? "StatFiles" : "ChildrenFiles";
                         });

TEST(ProcFileTest, ReadsNamesWithBracketsAndSpaces) {
  EXPECT_TRUE(IsProcOurs());
  ProcessState state;
  ASSERT_TRUE(ReadProcessState(getpid(), &state));
  EXPECT_EQ(state.parent, getppid());
  EXPECT_FALSE(state.is_dead);
  EXPECT_FALSE(ReadProcessState(0x3fffffff, &state));
}

}  // namespace
}  // namespace native_runner

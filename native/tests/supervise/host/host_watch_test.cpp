#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <thread>

#include "supervise/host/fingerprint.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

TEST(HostWatchTest, StaysTheSameWhileSandboxesComeAndGo) {
  HostWatch watch;
  const auto before = watch.State();
  ASSERT_TRUE(before.has_value());
  EXPECT_NE(before->find("Umask:"), std::string::npos) << *before;
  EXPECT_NE(before->find("\nUid:"), std::string::npos) << *before;
  EXPECT_NE(before->find("\nCapEff:"), std::string::npos) << *before;
  if (SandboxProblem().empty()) {
    const TempDirectory workspace;
    RunHost host;
    EXPECT_EQ(host.Execute(Sandboxed(workspace.path()), ShellRequest("exit 3")).outcome.exit_code,
              3);
  }
  EXPECT_EQ(watch.State(), before);
}

TEST(HostWatchTest, NoticesWhatACommandWouldInherit) {
  HostWatch watch;
  const auto before = watch.State();
  const mode_t mask = umask(0077);
  const auto during = watch.State();
  umask(mask);
  EXPECT_NE(during, before);
  EXPECT_EQ(watch.State(), before);
}

TEST(HostWatchTest, NoticesALimitThatACommandWouldInherit) {
  HostWatch watch;
  const auto before = watch.State();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &limit), 0);
  rlimit other = limit;
  other.rlim_cur = limit.rlim_cur == 0 && limit.rlim_max > 0 ? 4096 : 0;
  if (other.rlim_cur == limit.rlim_cur) GTEST_SKIP() << "no limit that could be changed and back";
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &other), 0);
  const auto during = watch.State();
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
  EXPECT_NE(during, before);
  EXPECT_EQ(watch.State(), before);
}

// Adds a filter that allows everything to the calling thread.
bool AddSeccompFilter() {
  sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{1, allow};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// The process may have a filter already, as in a container. A host may add one to all its threads
// (SECCOMP_FILTER_FLAG_TSYNC).
TEST(HostWatchTest, NoticesAFurtherSeccompFilter) {
  std::thread([] {
    ASSERT_TRUE(AddSeccompFilter());
    HostWatch watch;
    const auto before = watch.State();
    ASSERT_TRUE(before.has_value());
    if (before->find("Seccomp_filters:") == std::string::npos)
      GTEST_SKIP() << "this kernel doesn't count them (before Linux 5.9)";
    EXPECT_EQ(watch.State(), before);
    ASSERT_TRUE(AddSeccompFilter());
    EXPECT_NE(watch.State(), before);
  }).join();
}

}  // namespace
}  // namespace native_runner

#include "supervise/host/host_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

}  // namespace
}  // namespace native_runner

// The launcher that was started before its order was known.

#include <fcntl.h>
#include <unistd.h>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

class StandingTest : public LauncherTest {};

TEST_P(StandingTest, WaitsForItsOrder) {
  LauncherHost host(GetParam());
  ASSERT_TRUE(host.WaitStanding());
  EXPECT_GE(host.pidfd(), 0) << "pidfd_open(2) needs Linux 5.3";
  host.SendOrder({.argv = {"/bin/sh", "-c", "pwd; cat; exit 7"}, .cwd = "/usr"});
  const RunResult result = host.Finish();
  ExpectExited(result, 7);
  EXPECT_EQ(result.out, "/usr\n");
}

TEST_P(StandingTest, TakesItsInputBeforeTheOrder) {
  for (const bool waits : {true, false}) {
    LauncherHost host(GetParam());
    if (waits) {
      ASSERT_TRUE(host.WaitStanding());
    }
    int input[2];
    ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
    host.SendInput(input[0]);
    close(input[0]);
    ASSERT_EQ(write(input[1], "text", 4), 4);
    close(input[1]);
    host.SendOrder({.argv = {"/bin/sh", "-c", "cat; ls /proc/self/fd | wc -l"}});
    const RunResult result = host.Finish();
    ExpectExited(result, 0);
    EXPECT_EQ(result.out, "text4\n") << "0, 1, 2 and that of ls itself";
  }
}

INSTANTIATE_LAUNCHER_MODES(StandingTest);

}  // namespace
}  // namespace native_runner

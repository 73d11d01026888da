// Resource limits and the usage that a run reports.

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "tests/launcher/support/launcher_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

class LimitsTest : public LauncherTest {
 protected:
  static std::string Limit(const OrderHeader& header, const std::string& name) {
    return Run({.argv = {ProbePath(), "limit", name}, .header = header}).out;
  }
};

TEST_P(LimitsTest, AreInForce) {
  OrderHeader header;
  header.data_bytes = 300'000'000;
  header.cpu_seconds = 5;
  header.processes = 77;
  header.open_files = 55;
  header.file_bytes = 4096;
  EXPECT_EQ(Limit(header, "data"), "300000000 300000000 ");
  EXPECT_EQ(Limit(header, "cpu"), "5 6 ");
  EXPECT_EQ(Limit(header, "nproc"), "77 77 ");
  EXPECT_EQ(Limit(header, "nofile"), "55 55 ");
  EXPECT_EQ(Limit(header, "fsize"), "4096 4096 ");
}

TEST_P(LimitsTest, UnsetOnesStayAsTheyAre) {
  rlimit ours{};
  getrlimit(RLIMIT_NOFILE, &ours);
  EXPECT_EQ(Limit({}, "nofile"),
            std::to_string(ours.rlim_cur) + " " + std::to_string(ours.rlim_max) + " ");
}

TEST_P(LimitsTest, AStricterOneThatIsInForceStays) {
  rlimit ours{};
  getrlimit(RLIMIT_NOFILE, &ours);
  OrderHeader header;
  header.open_files = std::uint64_t{1} << 40;
  const std::string hard = std::to_string(ours.rlim_max);
  EXPECT_EQ(Limit(header, "nofile"), hard + " " + hard + " ");
}

TEST_P(LimitsTest, OpenFilesThatAreNotAskedForAreOnlyLowered) {
  rlimit ours{};
  getrlimit(RLIMIT_NOFILE, &ours);
  OrderHeader header;
  header.most_open_files = ours.rlim_cur - 1;
  const std::string most = std::to_string(header.most_open_files);
  EXPECT_EQ(Limit(header, "nofile"), most + " " + most + " ");
  header.most_open_files = kNoLimit - 1;
  EXPECT_EQ(Limit(header, "nofile"),
            std::to_string(ours.rlim_cur) + " " + std::to_string(ours.rlim_max) + " ");
  header.open_files = 55;
  EXPECT_EQ(Limit(header, "nofile"), "55 55 ") << "what was asked for comes first";
}

TEST_P(LimitsTest, MemoryIsRefused) {
  OrderSpec spec{.argv = {ProbePath(), "touch", "200"}};
  EXPECT_EQ(Run(spec).out, "0\n");
  spec.header.data_bytes = 64 << 20;
  EXPECT_EQ(Run(spec).out, "12\n");  // ENOMEM
}

TEST_P(LimitsTest, CpuTimeEndsTheCommand) {
  OrderSpec spec{.argv = {ProbePath(), "burn", "4000"}};
  spec.header.cpu_seconds = 1;
  const RunResult result = Run(spec);
  ASSERT_TRUE(WIFSIGNALED(result.last().wait_status));
  EXPECT_EQ(WTERMSIG(result.last().wait_status), SIGXCPU);
}

TEST_P(LimitsTest, FileSizeEndsTheCommand) {
  OrderSpec spec{.argv = {"/bin/sh", "-c",
                          "head -c 9000 /dev/zero >/dev/shm/launcher-$$; s=$?;"
                          "rm /dev/shm/launcher-$$; exit $s"}};
  ExpectExited(Run(spec), 0);
  spec.header.file_bytes = 4096;
  ExpectExited(Run(spec), 128 + SIGXFSZ);
}

TEST_P(LimitsTest, UsageCountsTheWholeTree) {
  const RunResult idle = Run({.argv = {"/bin/true"}});
  EXPECT_LT(idle.last().user_cpu_us + idle.last().system_cpu_us, Slow(100'000u));
  EXPECT_GT(idle.last().peak_memory_bytes, 0u);
  EXPECT_LT(idle.last().peak_memory_bytes, 16u << 20) << "not ours or the host's";

  // The orphan has touched its memory once it says so.
  const RunResult busy = Shell("f=/dev/shm/launcher-$$; " + ProbePath() + " burn 150; (" +
                               ProbePath() + " touch 100 >$f &); until [ -s $f ]; do :; done; " +
                               "rm $f; " + ProbePath() + " burn 150");
  ExpectExited(busy, 0);
  EXPECT_GT(busy.last().user_cpu_us + busy.last().system_cpu_us, 280'000u);
  EXPECT_LT(busy.last().user_cpu_us + busy.last().system_cpu_us, Slow(3'000'000u));
  EXPECT_GT(busy.last().peak_memory_bytes, 100u << 20);
  EXPECT_LT(busy.last().peak_memory_bytes, 130u << 20);
}

TEST_P(LimitsTest, UsageCountsWhatWasKilled) {
  LauncherHost host(GetParam());
  host.SendOrder({.argv = {"/bin/sh", "-c", ProbePath() + " burn 200; echo x; sleep 30"}});
  host.ReadOut(2);
  host.SendKill();
  const RunResult result = host.Finish();
  EXPECT_GT(result.last().user_cpu_us + result.last().system_cpu_us, 190'000u);
}

INSTANTIATE_LAUNCHER_MODES(LimitsTest);

}  // namespace
}  // namespace native_runner

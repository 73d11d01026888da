// Refusals of the filter are reported without a tracer.

#include <sched.h>

#include <cerrno>

#include "tests/launcher/trace/trace_fixture.h"

namespace native_runner {
namespace {

class RefusalsTest : public LauncherTest {
 protected:
  static RunResult Probe(const std::string& group, const std::string& what) {
    OrderSpec spec{.argv = {ProbePath(), group, what}};
    spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp;
    return Run(spec);
  }
};

TEST_P(RefusalsTest, TellsWhichCallOfWhichProgram) {
  const RunResult result = Probe("call", "unshare");
  EXPECT_EQ(result.out, std::to_string(EPERM) + "\n");
  ASSERT_EQ(result.observations.size(), 1u);
  const Observation& seen = result.observations.front();
  EXPECT_EQ(seen.call, "unshare");
  EXPECT_EQ(seen.error, EPERM);
  EXPECT_TRUE(seen.by_filter);
  EXPECT_EQ(seen.kind, Observation::Kind::kOther);
  EXPECT_EQ(seen.program, "launcher_probe");
  EXPECT_EQ(seen.argument, std::uint64_t{CLONE_NEWUSER});
}

TEST_P(RefusalsTest, KeepsEachError) {
  const RunResult result = Probe("call", "vsock");
  EXPECT_EQ(result.out, std::to_string(EAFNOSUPPORT) + "\n");
  ASSERT_EQ(result.observations.size(), 1u);
  EXPECT_EQ(result.observations.front().call, "socket");
  EXPECT_EQ(result.observations.front().error, EAFNOSUPPORT);
  EXPECT_EQ(result.observations.front().argument, 40u);
}

TEST_P(RefusalsTest, SaysNothingOfWhatProgramsOnlyTry) {
  for (const char* name : {"clone3", "io_uring", "io_setup", "clone-plain", "unix"})
    EXPECT_TRUE(Probe("call", name).observations.empty()) << name;
}

TEST_P(RefusalsTest, AFloodIsAnsweredAndBounded) {
  const RunResult result = Probe("refused", "flood");
  EXPECT_EQ(result.out, "50000\n");
  EXPECT_LE(result.observations.size(), 64u);
  EXPECT_EQ(result.observations.size() + result.observations_omitted, 50'000u);
}

TEST_P(RefusalsTest, AFloodDoesNotHoldUpTheEnd) {
  LauncherHost host(GetParam());
  OrderSpec spec{
      .argv = {"/bin/sh", "-c",
               "echo begun; while :; do \"$1\" refused flood & \"$1\" refused flood; done", "sh",
               ProbePath()},
      .environment = {"PATH=/usr/bin:/bin"}};
  spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp;
  host.SendOrder(spec);
  host.ReadOut(6);
  usleep(100'000);
  host.SendKill();
  EXPECT_EQ(host.Finish().last().kind, ReportKind::kExited);
}

TEST_P(RefusalsTest, IsToldOfATracedOneToo) {
  OrderSpec spec{.argv = {ProbePath(), "call", "unshare"}};
  spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp | kOrderExplain;
  const RunResult result = Run(spec);
  EXPECT_EQ(result.out, std::to_string(EPERM) + "\n");
  EXPECT_NE(FindObservation(result, "unshare", ""), nullptr);
}

INSTANTIATE_LAUNCHER_MODES(RefusalsTest);

}  // namespace
}  // namespace native_runner

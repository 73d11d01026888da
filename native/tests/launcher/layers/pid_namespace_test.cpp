// kOrderMakeInit: the launcher makes a pid namespace of its own where it may, and goes on as before
// where it may not.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

OrderSpec Order(std::vector<std::string> argv, std::uint32_t flags = kOrderMakeInit) {
  OrderSpec spec{.argv = std::move(argv)};
  spec.header.flags = flags;
  return spec;
}

OrderSpec Shell(const std::string& script, std::uint32_t flags = kOrderMakeInit) {
  return Order({"/bin/sh", "-c", script}, flags);
}

std::string OwnNamespace(const char* name) {
  std::array<char, 64> text{};
  const std::string link = std::string("/proc/self/ns/") + name;
  const ssize_t size = readlink(link.c_str(), text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

class PidNamespaceTest : public testing::Test {
 protected:
  void SetUp() override {
    const RunResult result = RunCommand(Mode::kSubreaper, Order({"/bin/true"}));
    if (result.reports.front().enforced.Has(Layer::kPidNamespace)) return;
    GTEST_SKIP() << "this host lets this user make no pid namespace";
  }
};

TEST_F(PidNamespaceTest, TheLauncherIsProcessOneInIt) {
  EXPECT_EQ(RunCommand(Mode::kSubreaper, Shell("echo $$ $PPID")).out, "2 1\n");
  EXPECT_NE(RunCommand(Mode::kSubreaper, Shell("echo $$ $PPID", 0)).out, "2 1\n");
}

TEST_F(PidNamespaceTest, ComesWithAnIpcNamespaceAndNoOther) {
  const std::string script =
      "readlink /proc/self/ns/pid /proc/self/ns/ipc /proc/self/ns/mnt /proc/self/ns/net";
  const std::string host = OwnNamespace("pid") + "\n" + OwnNamespace("ipc") + "\n";
  const std::string shared = OwnNamespace("mnt") + "\n" + OwnNamespace("net") + "\n";
  EXPECT_EQ(RunCommand(Mode::kSubreaper, Shell(script, 0)).out, host + shared);
  const std::string out = RunCommand(Mode::kSubreaper, Shell(script)).out;
  EXPECT_EQ(out.find(OwnNamespace("pid")), std::string::npos);
  EXPECT_EQ(out.find(OwnNamespace("ipc")), std::string::npos);
  EXPECT_NE(out.find(shared), std::string::npos) << out;
}

TEST_F(PidNamespaceTest, KeepsTheUserAndTheStatus) {
  const RunResult result = RunCommand(Mode::kSubreaper, Shell("id -u; id -g; exit 7"));
  ExpectExited(result, 7);
  EXPECT_EQ(result.out, std::to_string(geteuid()) + "\n" + std::to_string(getegid()) + "\n");
}

TEST_F(PidNamespaceTest, NoProcessOfTheHostCanBeSignalled) {
  const std::string script = "kill -0 " + std::to_string(getpid()) + " 2>&1 && echo reached";
  EXPECT_EQ(RunCommand(Mode::kSubreaper, Shell(script, 0)).out, "reached\n");
  EXPECT_NE(RunCommand(Mode::kSubreaper, Shell(script)).out.find("No such process"),
            std::string::npos);
}

TEST_F(PidNamespaceTest, TheTreeIsGoneWhenTheCommandEnds) {
  LauncherHost host(Mode::kSubreaper);
  host.SendOrder(Shell(ProbePath() + " tree; sleep 0.2; exit 7"));
  EXPECT_NE(host.ReadOut(1), "");
  EXPECT_FALSE(host.OutputEnds(50)) << "the control: it stands";
  ExpectExited(host.Finish(), 7);
}

TEST_F(PidNamespaceTest, TheTreeIsGoneWhenTheHostIsGone) {
  LauncherHost host(Mode::kSubreaper);
  host.SendOrder(Order({ProbePath(), "tree-stay"}));
  EXPECT_NE(host.ReadOut(1), "");
  EXPECT_FALSE(host.OutputEnds(50)) << "the control: it stands";
  host.CloseChannel();
  EXPECT_TRUE(host.OutputEnds(10'000));
}

TEST_F(PidNamespaceTest, TheEndOfTheProcessBeforeItIsTheEndOfAll) {
  LauncherHost host(Mode::kSubreaper);
  host.SendOrder(Order({ProbePath(), "tree-stay"}));
  EXPECT_NE(host.ReadOut(1), "");
  EXPECT_FALSE(host.OutputEnds(50)) << "the control: it stands";
  ASSERT_EQ(kill(host.pid(), SIGKILL), 0);
  EXPECT_TRUE(host.OutputEnds(10'000));
}

TEST_F(PidNamespaceTest, ALayerThatIsRefusedInsideIsReportedOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has capabilities to be left";
  const RunResult result =
      RunCommand(Mode::kSubreaper, Shell("echo ran", kOrderMakeInit | kOrderNoCapabilities));
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(result.out, "");
}

class NoPidNamespaceTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string problem = NoNamespacesProblem();
    if (!problem.empty()) GTEST_SKIP() << problem;
  }
};

TEST_F(NoPidNamespaceTest, TheLauncherGoesOnAsASubreaper) {
  const RunResult result = RunCommand(Mode::kNoNamespaces, Shell("echo ran; exit 7"));
  ExpectExited(result, 7);
  EXPECT_EQ(result.out, "ran\n");
  EXPECT_EQ(result.reports.front().kind, ReportKind::kReady);
  EXPECT_FALSE(result.reports.front().enforced.Has(Layer::kPidNamespace));
}

TEST_F(NoPidNamespaceTest, AndRefusesWhereOneIsRequired) {
  OrderSpec spec = Shell("echo ran");
  spec.header.required = {Layer::kPidNamespace};
  const RunResult result = RunCommand(Mode::kNoNamespaces, spec);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(std::string(result.last().text),
            "pid-namespace: required, but this kernel can't enforce it");
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace native_runner

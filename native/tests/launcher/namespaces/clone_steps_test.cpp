// The steps of a template's order: which are taken, which are refused, and by whom.

#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "tests/launcher/namespaces/template_fixture.h"

namespace native_runner {
namespace {

class CloneStepsTest : public TemplateFixture {};

// Good ones but for `bad`, which stands where the step that it spoils did.
struct BadSteps {
  std::string name;
  std::vector<std::string> steps;
};

class BadStepsTest : public TemplateFixture, public testing::WithParamInterface<BadSteps> {};

TEST_P(BadStepsTest, AreTheTemplatesRefusal) {
  LauncherHost host(Mode::kTemplate);
  host.SendOrder(TemplateOrder(GetParam().steps));
  const auto report = host.Receive();
  ASSERT_TRUE(report);
  if (GetParam().name == "Control") {
    EXPECT_EQ(report->kind, ReportKind::kReady) << report->text;
    return ExpectServes(host);
  }
  EXPECT_EQ(report->kind, ReportKind::kRefused);
  EXPECT_EQ(report->error, EINVAL);
  EXPECT_NE(std::string(report->text).find("step"), std::string::npos) << report->text;
  EXPECT_TRUE(host.Ends());
}

std::vector<BadSteps> AllBadSteps() {
  const std::string leave = "i" + std::to_string(geteuid()) + ":" + std::to_string(getegid());
  const std::string proc = geteuid() == 0 ? "Pr/proc" : "P/proc";
  std::vector<BadSteps> all = {
      {"Control", {proc, "n", leave}},
      {"None", {}},
      {"NoLeave", {proc, "n"}},
      {"NoProc", {"n", leave}},
      {"LeaveIsNotLast", {proc, leave, "n"}},
      {"LeaveTwice", {proc, leave, leave}},
      {"Unknown", {proc, "z/tmp", leave}},
      {"Empty", {proc, "", leave}},
      {"ProcIsRelative", {"Pproc", leave}},
      {"ReadOnlyProcIsRelative", {"Prproc", leave}},
      {"ProcIsEmpty", {"P", leave}},
      {"TmpfsIsRelative", {proc, "ttmp", leave}},
      {"TerminalsAreRelative", {proc, "dpts", leave}},
      {"NetworkWithAUser", {proc, "nu", leave}},
      {"ListenWithoutANetwork", {proc, "p8080", leave}},
      {"ListenAheadOfTheNetwork", {proc, "p8080", "n", leave}},
      {"BlockWithoutANetwork", {proc, "b64:fd000000000000000000000000000000", leave}}};
  // Steps of the maker of namespaces that no clone takes.
  for (const char kind : {'u', 'm', 'l', 'c', 'w', 'o', 'j', 's', 'a', 'x'})
    all.push_back({"OfAMaker_" + std::string(1, kind), {proc, std::string(1, kind), leave}});
  const char* const ids[] = {"",
                             "1",
                             ":",
                             "1:",
                             "1:x",
                             "x:1",
                             "-1:0",
                             "1 :0",
                             "1:0 ",
                             "1:0--",
                             "1:0x",
                             "1:0-x",
                             "4294967295:0",
                             "0:4294967295",
                             "99999999999999999999:0",
                             "0:18446744073709551617"};
  int number = 0;
  for (const char* each : ids)
    all.push_back({"Ids_" + std::to_string(number++), {proc, "i" + std::string(each)}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Steps, BadStepsTest, testing::ValuesIn(AllBadSteps()),
                         [](const auto& each) { return each.param.name; });

TEST_F(CloneStepsTest, WhatFailsInACloneIsThatClones) {
  const struct {
    Steps steps;
    const char* says;
  } rows[] = {
      {{Proc(), "t/missing", Leave()}, "/missing"},
      {{Proc(), "d/missing", Leave()}, "/missing"},
      {{Proc(), "t/etc/passwd", Leave()}, "/etc/passwd"},
      {{Proc(), "n", "p99999", Leave()}, ""},
      {{Proc(), "n", "pgarbage", Leave()}, ""},
      {{Proc(), "n", "bgarbage", Leave()}, ""},
  };
  for (const auto& [steps, says] : rows) {
    const auto made = Start(steps);
    for (int turn = 0; turn < 2; ++turn) {
      const RunResult result = RunIn(*made, Shell("echo ran"));
      EXPECT_EQ(result.last().kind, ReportKind::kRefused) << steps[1];
      EXPECT_EQ(result.last().no_clone, 1u);
      EXPECT_NE(std::string(result.last().text).find(says), std::string::npos)
          << result.last().text;
      EXPECT_EQ(result.out, "");
    }
    EXPECT_FALSE(made->Ends(50)) << "it serves on";
  }
}

// The ids are the same as in a sandbox that bwrap makes.
TEST_F(CloneStepsTest, AnotherUserThanOnesOwn) {
  const auto made = Start({Proc(), "n", "i1234:5678"});
  EXPECT_EQ(Out(*made, "id -u; id -g"), "1234\n5678\n");
}

TEST_F(CloneStepsTest, TmpfsHaveTheSizeOfTheRequest) {
  const auto made = Start();
  const auto kilobytes = [&made](std::uint64_t bytes) {
    const RunResult result =
        RunIn(*made, Shell("df -k --output=size /dev/shm | tail -1"), {.tmp_bytes = bytes});
    ExpectExited(result, 0);
    return std::stoul(result.out);
  };
  EXPECT_EQ(kilobytes(1 << 20), 1024u);
  EXPECT_EQ(kilobytes(64 << 10), 64u);
  EXPECT_GT(kilobytes(0), 1024u) << "the kernel's default";
}

TEST_F(CloneStepsTest, TmpfsAreWhatBwrapWouldMount) {
  const auto made = Start();
  EXPECT_EQ(Out(*made,
                "stat -c '%a %u' /dev/shm; awk '$2 == \"/dev/shm\" { print $4 }' "
                "/proc/mounts | tail -1 | cut -d, -f1-3"),
            "755 " + std::to_string(geteuid()) + "\nrw,nosuid,nodev\n");
}

TEST_F(CloneStepsTest, TerminalsAreNewForEach) {
  const auto made = Start();
  EXPECT_EQ(Out(*made, "ls /dev/pts; ls -l /dev/ptmx | grep -c pts/ptmx"), "ptmx\n1\n");
}

TEST_F(CloneStepsTest, ProcIsReadOnlyWhereItSaysSo) {
  const std::string options =
      "awk '$2 == \"/proc\" { print substr($4, 1, 2) }' /proc/mounts | tail -1";
  if (geteuid() != 0) {
    // Nothing covers a user's, which says nothing of itself; no policy of his has the other.
    EXPECT_EQ(Out(*Start({"P/proc", "n", Leave()}), options), "rw\n");
    return;
  }
  const auto made = Start({"Pr/proc", "n", Leave()});
  EXPECT_EQ(Out(*made, options), "ro\n");
  EXPECT_EQ(Out(*made, "cat /proc/1/comm"), "launcher\n") << "of its own namespace";
  EXPECT_EQ(Out(*made, "(echo 1000 > /proc/self/oom_score_adj) 2>/dev/null || echo refused"),
            "refused\n");
}

TEST_F(CloneStepsTest, TheLoopbackIsUpAndAlone) {
  const auto made = Start();
  EXPECT_EQ(Out(*made,
                "awk -F: 'NR > 2 { print $1 $2 }' /proc/net/dev | wc -l; "
                "grep -c 127.0.0.1 /proc/net/fib_trie | sed 's/[1-9]/up/'"),
            "1\nup\n");
}

TEST_F(CloneStepsTest, ListenersAreHandedOverAheadOfTheCommand) {
  const auto made = Start({Proc(), "n", "p8080", "p53,u53", Leave()});
  const auto clone = made->Clone();
  clone->SendOrder(
      Shell("cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | "
            "awk '$4 == \"0A\" { sub(\".*:\", \"\", $2); print $2 }' | sort -u"));
  const RunResult result = clone->Finish();
  ASSERT_EQ(result.reports.size(), 4u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kMade);
  EXPECT_EQ(result.reports[1].kind, ReportKind::kMade);
  EXPECT_EQ(result.reports[2].kind, ReportKind::kReady);
  EXPECT_EQ(result.out, "0035\n1F90\n");
}

TEST_F(CloneStepsTest, FurtherUserNamespacesOnlyWhereItIsNotForbidden) {
  if (!std::filesystem::exists("/proc/sys/user/max_user_namespaces")) GTEST_SKIP() << "no limits";
  const auto try_it = [](const std::string& suffix) {
    const auto made = Start({Proc(), "n", Leave(suffix)});
    OrderSpec order{.argv = {ProbePath(), "call", "unshare"}};
    return RunIn(*made, order).out;
  };
  EXPECT_EQ(try_it(""), "0\n") << "the control";
  EXPECT_EQ(try_it("-"), std::to_string(ENOSPC) + "\n");
}

}  // namespace
}  // namespace native_runner

// The reports of a template and its clones, and how they end.

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/launcher/namespaces/template_fixture.h"
#include "tests/support/slow.h"

namespace native_runner {
namespace {

class TemplateTest : public TemplateFixture {};

// The numbers of a process's children, with a space between.
std::string ChildrenOf(const std::string& pid) {
  std::string children;
  std::getline(std::ifstream("/proc/" + pid + "/task/" + pid + "/children"), children);
  while (!children.empty() && children.back() == ' ')
    children.pop_back();
  return children;
}

bool HasEnded(int pidfd) {
  pollfd watched{pidfd, POLLIN, 0};
  return poll(&watched, 1, 10'000) == 1;
}

// The process behind a pidfd, as /proc counts.
std::string NumberOf(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string word; info >> word;) {
    if (word == "Pid:" && info >> word) return word;
  }
  return "";
}

TEST_F(TemplateTest, ACloneRunsACommandAndReports) {
  const auto made = Start();
  const auto clone = made->Clone();
  clone->SendOrder(Shell("echo out; echo err >&2; exit 7"));
  const auto ready = clone->Receive();
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->kind, ReportKind::kReady) << ready->text;
  EXPECT_GE(clone->pidfd(), 0) << "the host could not see its end";
  EXPECT_TRUE(ready->enforced.Has(Layer::kPidNamespace));
  const RunResult result = clone->Finish();
  ExpectExited(result, 7);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_TRUE(HasEnded(clone->pidfd()));
}

// If the order comes later, the first report says that the clone waits for it.
TEST_F(TemplateTest, ACloneCanStand) {
  const auto made = Start();
  const auto clone = made->Clone();
  ASSERT_TRUE(clone->WaitStanding());
  EXPECT_GE(clone->pidfd(), 0);
  ExpectServes(*made);
  clone->SendOrder(Shell("echo late"));
  EXPECT_EQ(clone->Finish().out, "late\n");
}

TEST_F(TemplateTest, ManyLeaveNothingInIt) {
  const auto made = Start();
  ExpectServes(*made);
  const std::string launcher = ChildrenOf(std::to_string(made->pid()));
  ASSERT_NE(launcher, "");
  const std::string proc = "/proc/" + launcher;
  const auto descriptors = [&proc] {
    std::error_code failed;
    std::filesystem::directory_iterator all(proc + "/fd", failed);
    return failed ? 0 : std::distance(begin(all), end(all));
  };
  const auto before = descriptors();
  EXPECT_TRUE(before > 3 || geteuid() != 0) << "only root may look";
  for (int turn = 0; turn < 30; ++turn)
    ExpectServes(*made);
  // It keeps network namespaces for a while that were left as new.
  for (int turn = 0; turn < Slow(20'000) && descriptors() != before; ++turn)
    usleep(1'000);
  EXPECT_EQ(descriptors(), before);
  for (int turn = 0; turn < Slow(2'000) && !ChildrenOf(launcher).empty(); ++turn)
    usleep(1'000);
  EXPECT_EQ(ChildrenOf(launcher), "");
}

TEST_F(TemplateTest, OneThatIsKilledIsNobodyElsesEnd) {
  const auto made = Start();
  const auto killed = made->Clone();
  const auto other = made->Clone();
  for (const auto* clone : {&killed, &other}) {
    (*clone)->SendOrder(Shell("echo up; read x < /dev/null; sleep 0.3; echo on"));
    (*clone)->ReadOut(3);
  }
  ASSERT_TRUE(killed->Receive());
  ASSERT_EQ(syscall(SYS_pidfd_send_signal, killed->pidfd(), SIGKILL, nullptr, 0), 0);
  EXPECT_EQ(killed->Finish().out, "up\n");
  EXPECT_EQ(other->Finish().out, "up\non\n");
  ExpectServes(*made);
}

TEST_F(TemplateTest, TheHostsEndIsEverybodys) {
  const auto made = Start();
  const auto clone = made->Clone();
  clone->SendOrder(Shell("setsid sleep 600 & echo up; sleep 600"));
  EXPECT_EQ(clone->ReadOut(3), "up\n");
  ASSERT_TRUE(clone->Receive());
  made->CloseChannel();
  EXPECT_TRUE(made->Ends());
  EXPECT_TRUE(clone->OutputEnds(10'000));
  EXPECT_TRUE(HasEnded(clone->pidfd()));
}

TEST_F(TemplateTest, AClonesHostsEndIsThatClones) {
  const auto made = Start();
  const auto clone = made->Clone();
  clone->SendOrder(Shell("setsid sleep 600 & echo up; sleep 600"));
  EXPECT_EQ(clone->ReadOut(3), "up\n");
  clone->CloseChannel();
  EXPECT_TRUE(clone->OutputEnds(10'000));
  ExpectServes(*made);
}

struct BadMessage {
  const char* name;
  char kind;
  std::size_t bytes;
  std::size_t descriptors;
};

class BadMessageTest : public TemplateFixture, public testing::WithParamInterface<BadMessage> {};

TEST_P(BadMessageTest, EndsTheTemplateAndItsClones) {
  const auto made = Start();
  const auto clone = made->Clone();
  clone->SendOrder(Shell("echo up; sleep 600"));
  EXPECT_EQ(clone->ReadOut(3), "up\n");
  const auto& [name, kind, size, count] = GetParam();
  const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
  const std::vector<int> descriptors(count, null_device);
  made->SendDescriptors(kind, descriptors, std::vector<std::byte>(size));
  close(null_device);
  const bool is_good = std::string(name) == "Control";
  EXPECT_NE(made->Ends(is_good ? 300 : 10'000), is_good);
  if (is_good) return ExpectServes(*made);
  EXPECT_TRUE(clone->OutputEnds(10'000));
}

constexpr std::size_t kWhole = sizeof(CloneRequest);

INSTANTIATE_TEST_SUITE_P(Messages, BadMessageTest,
                         testing::Values(BadMessage{"Control", kCloneMessage, kWhole, 4},
                                         BadMessage{"NoKindOfMessage", '?', kWhole, 4},
                                         BadMessage{"AnOrder", kOrderMessage, kWhole, 1},
                                         BadMessage{"AKill", kKillMessage, 0, 0},
                                         BadMessage{"ACommand", kCommandMessage, 0, 4},
                                         BadMessage{"Truncated", kCloneMessage, kWhole - 1, 4},
                                         BadMessage{"WithoutARequest", kCloneMessage, 0, 4},
                                         BadMessage{"TooLong", kCloneMessage, kWhole + 1, 4},
                                         BadMessage{"WithoutDescriptors", kCloneMessage, kWhole, 0},
                                         BadMessage{"TooFewDescriptors", kCloneMessage, kWhole, 3},
                                         BadMessage{"TooManyDescriptors", kCloneMessage, kWhole,
                                                    6}),
                         [](const auto& each) { return each.param.name; });

TEST_F(TemplateTest, ACloneTakesNoOtherRole) {
  const auto made = Start();
  for (const std::uint32_t role : {kOrderTemplate, kOrderNamespaces}) {
    OrderSpec order = TemplateOrder(role == kOrderTemplate ? GoodSteps() : Steps{"n"});
    order.header.flags = role;
    const auto clone = made->Clone();
    const auto bytes = EncodeOrder(order.header, "", order.argv, {}, order.rules);
    clone->SendInMessage(bytes);
    const RunResult result = clone->Finish();
    EXPECT_EQ(result.last().kind, ReportKind::kRefused);
    EXPECT_EQ(result.last().error, EPROTO) << result.last().text;
    EXPECT_EQ(result.last().no_clone, 0u);
    ExpectServes(*made);
  }
}

TEST_F(TemplateTest, OnlyProcessOneIsATemplate) {
  const RunResult result = RunCommand(Mode::kSubreaper, TemplateOrder(GoodSteps()));
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(std::string(result.last().text).find("pid-namespace: "), 0u) << result.last().text;
}

TEST_F(TemplateTest, HasNoOtherFlags) {
  for (const std::uint32_t other : {kOrderIsInit, kOrderNoNewPrivs, kOrderSession, kOrderTerminal,
                                    kOrderNamespaces, kOrderLandlock}) {
    LauncherHost host(Mode::kTemplate);
    OrderSpec order = TemplateOrder(GoodSteps());
    order.header.flags |= other;
    host.SendOrder(order);
    const RunResult result = host.Finish();
    EXPECT_EQ(result.last().kind, ReportKind::kRefused) << other;
  }
}

TEST_F(TemplateTest, WhatIsNoCgroupIsRefusedAndNothingElse) {
  const auto made = Start();
  const int directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (const int wrong : {directory, file}) {
    const auto clone = made->Clone({}, wrong);
    clone->SendOrder(Shell("echo ran"));
    const RunResult result = clone->Finish();
    EXPECT_EQ(result.last().kind, ReportKind::kRefused);
    EXPECT_EQ(result.last().no_clone, 1u);
    EXPECT_EQ(std::string(result.last().text).find("cannot clone a sandbox"), 0u);
    EXPECT_EQ(result.out, "");
    close(wrong);
  }
  ExpectServes(*made);
}

TEST_F(TemplateTest, ACloneIsBornIntoItsCgroup) {
  std::string above;
  for (const char* each : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (access((std::string(each) + "/cgroup.procs").c_str(), W_OK) == 0) above = each;
  }
  if (above.empty()) GTEST_SKIP() << "no cgroup v2 that we may write to";
  const std::string name = "clone-test-" + std::to_string(getpid());
  const std::string group = above + "/" + name;
  ASSERT_EQ(mkdir(group.c_str(), 0755), 0) << errno;
  {
    const auto made = Start();
    const int directory = open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto clone = made->Clone({}, directory);
    close(directory);
    clone->SendOrder(Shell("cat /proc/self/cgroup; sleep 600"));
    const auto ready = clone->Receive();
    ASSERT_TRUE(ready && ready->kind == ReportKind::kReady) << ready->text;
    std::string seen = clone->ReadOut(1);
    EXPECT_NE(seen.find("0::/\n"), std::string::npos) << "its own is the root: " << seen;
    const std::string pid = NumberOf(clone->pidfd());
    std::ostringstream of_clone;
    of_clone << std::ifstream("/proc/" + pid + "/cgroup").rdbuf();
    EXPECT_NE(of_clone.str().find("0::/" + name + "\n"), std::string::npos) << of_clone.str();
  }
  bool is_gone = false;
  for (int turn = 0; turn < Slow(2'000) && !is_gone; ++turn, usleep(1'000))
    is_gone = rmdir(group.c_str()) == 0;
  EXPECT_TRUE(is_gone) << "something is left in it";
}

}  // namespace
}  // namespace native_runner

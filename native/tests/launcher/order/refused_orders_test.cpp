// Layers that are not in force, and orders that are none: the command never starts.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

std::vector<std::byte> GoodOrder() {
  const std::vector<std::string> argv = {"/bin/echo", "ran"};
  return EncodeOrder({}, "", argv, {});
}

void ExpectRefused(const std::vector<std::byte>& order, bool in_message, int error) {
  LauncherHost host(Mode::kSubreaper);
  if (in_message) {
    host.SendInMessage(order);
  } else {
    host.SendBytes(order);
  }
  const RunResult result = host.Finish();
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(result.last().error, error);
  EXPECT_NE(std::string(result.last().text), "");
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "");
}

void ExpectRefused(const std::vector<std::byte>& order, int error = EINVAL) {
  ExpectRefused(order, false, error);
  ExpectRefused(order, true, order.empty() ? EPROTO : error);  // a message of one byte is none
}

template <typename Field>
std::vector<std::byte> With(Field OrderHeader::*field, Field value) {
  auto order = GoodOrder();
  OrderHeader header;
  std::memcpy(&header, order.data(), sizeof header);
  header.*field = value;
  std::memcpy(order.data(), &header, sizeof header);
  return order;
}

TEST(RefusalTest, TheControlRuns) {
  LauncherHost host(Mode::kSubreaper);
  host.SendBytes(GoodOrder());
  EXPECT_EQ(host.Finish().out, "ran\n");
  LauncherHost other(Mode::kSubreaper);
  other.SendInMessage(GoodOrder());
  EXPECT_EQ(other.Finish().out, "ran\n");
}

TEST(RefusalTest, AnOrderThatIsTooLongForItsMessage) {
  const std::vector<std::string> argv = {"/bin/echo", std::string(kMostInMessage, 'x')};
  ExpectRefused(EncodeOrder({}, "", argv, {}), true, EINVAL);
}

TEST(RefusalTest, BadOrders) {
  ExpectRefused(With(&OrderHeader::magic, kOrderMagic + 1));
  ExpectRefused(With(&OrderHeader::version, kOrderVersion + 1));
  ExpectRefused(With(&OrderHeader::flags, 1u << 31));
  ExpectRefused(With(&OrderHeader::argc, 0u));
  ExpectRefused(With(&OrderHeader::argc, UINT32_MAX));
  ExpectRefused(With(&OrderHeader::envc, UINT32_MAX));
  ExpectRefused(With(&OrderHeader::text_bytes, UINT64_MAX));
  ExpectRefused({});
}

TEST(RefusalTest, OrdersCutOffAnywhere) {
  const auto order = GoodOrder();
  for (std::size_t size = 0; size < order.size(); size += 7) {
    ExpectRefused({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size)});
  }
}

TEST(RefusalTest, StepsAreNotACommandsLaunchers) {
  ExpectRefused(With(&OrderHeader::flags, std::uint32_t{kOrderNamespaces}), EPROTO);
  ExpectRefused(With(&OrderHeader::flags, kOrderNamespaces | kOrderNoNewPrivs));
}

TEST(RefusalTest, AMessageThatIsNoOrder) {
  LauncherHost host(Mode::kSubreaper);
  host.SendMessage('?');
  const RunResult result = host.Finish();
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(result.last().error, EPROTO);
}

TEST(RefusalTest, AKillInsteadOfTheOrderIsNoFault) {
  LauncherHost host(Mode::kSubreaper);
  ASSERT_TRUE(host.WaitStanding());
  host.SendKill();
  EXPECT_FALSE(host.Receive().has_value());
  EXPECT_TRUE(host.OutputEnds(3000));
}

TEST(RefusalTest, AHostThatIsGoneBeforeTheOrder) {
  LauncherHost host(Mode::kSubreaper);
  host.CloseChannel();
  EXPECT_TRUE(host.OutputEnds(3000));
}

TEST(RefusalTest, ProcessOneIsRequiredAndWeAreNot) {
  OrderSpec spec{.argv = {"/bin/true"}};
  spec.header.flags = kOrderIsInit;
  const RunResult result = RunCommand(Mode::kSubreaper, spec);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(std::string(result.last().text).find("pid-namespace: "), 0u);
}

TEST(RefusalTest, CapabilitiesThatAreLeft) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has capabilities to be left";
  OrderSpec spec{.argv = {"/bin/true"}};
  spec.header.flags = kOrderNoCapabilities;
  const RunResult result = RunCommand(Mode::kSubreaper, spec);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(std::string(result.last().text).find("no-capabilities: "), 0u);
}

TEST(RefusalTest, ASeccompFilterThatMayNotBeInstalled) {
  if (geteuid() == 0) GTEST_SKIP() << "root may install one without no_new_privs";
  OrderSpec spec{.argv = {"/bin/true"}};
  spec.header.flags = kOrderSeccomp;
  const RunResult result = RunCommand(Mode::kSubreaper, spec);
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_EQ(result.last().error, EACCES);
  EXPECT_EQ(std::string(result.last().text), "seccomp: Permission denied");
}

TEST(RefusalTest, AllLayersInTheSandbox) {
  if (!BwrapProblem().empty()) GTEST_SKIP() << BwrapProblem();
  OrderSpec spec{.argv = {"/bin/grep", "-E", "CapEff|NoNewPrivs|Seccomp:", "/proc/self/status"}};
  spec.header.flags = kOrderNoCapabilities | kOrderNoNewPrivs | kOrderSeccomp;
  const RunResult result = RunCommand(Mode::kInit, spec);
  EXPECT_EQ(result.out, "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n")
      << result.last().text;
}

}  // namespace
}  // namespace native_runner

// A namespace that was to be its own, and is the host's: the command never starts.

#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "protocol/identity.h"
#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

std::uint64_t Ours(const char* name) {
  std::array<char, 64> text{};
  const std::string link = std::string("/proc/self/ns/") + name;
  const ssize_t size = readlink(link.c_str(), text.data(), text.size() - 1);
  EXPECT_GT(size, 0) << link;
  return NamespaceNumber(text.data());
}

OrderSpec Asking(std::uint32_t flags) {
  OrderSpec spec{.argv = {"/bin/echo", "ran"}};
  spec.header.flags = flags;
  spec.header.mount_namespace = Ours("mnt");
  spec.header.pid_namespace = Ours("pid");
  spec.header.network_namespace = Ours("net");
  return spec;
}

constexpr std::uint32_t kAll =
    kOrderOwnMountNamespace | kOrderOwnPidNamespace | kOrderOwnNetworkNamespace;

TEST(NamespacesTest, TheHostsOwnAreRefusedByTheirNames) {
  const struct {
    std::uint32_t flag;
    const char* text;
  } rows[] = {
      {kOrderOwnMountNamespace, "mount-namespace: the command would run in the host's own"},
      {kOrderOwnPidNamespace, "pid-namespace: the command would run in the host's own"},
      {kOrderOwnNetworkNamespace, "network-namespace: the command would run in the host's own"},
  };
  for (const auto& row : rows) {
    const RunResult result = RunCommand(Mode::kSubreaper, Asking(row.flag));
    ASSERT_EQ(result.reports.size(), 1u) << row.text;
    EXPECT_EQ(result.last().kind, ReportKind::kRefused);
    EXPECT_STREQ(result.last().text, row.text);
    EXPECT_EQ(result.out, "");
  }
}

TEST(NamespacesTest, AreNoConcernWhereNotAskedFor) {
  EXPECT_EQ(RunCommand(Mode::kSubreaper, Asking(0)).out, "ran\n");
}

TEST(NamespacesTest, EachIsComparedWithItsOwnNumber) {
  OrderSpec spec = Asking(kAll);
  spec.header.mount_namespace += 1;
  EXPECT_EQ(std::string(RunCommand(Mode::kSubreaper, spec).last().text).find("pid-namespace: "),
            0u);
  spec.header.pid_namespace += 1;
  EXPECT_EQ(std::string(RunCommand(Mode::kSubreaper, spec).last().text).find("network-names"), 0u);
  spec.header.network_namespace += 1;
  EXPECT_EQ(RunCommand(Mode::kSubreaper, spec).out, "ran\n");
}

TEST(NamespacesTest, OnesOfItsOwnPass) {
  if (!BwrapProblem().empty()) GTEST_SKIP() << BwrapProblem();
  const RunResult result =
      RunCommand(Mode::kInit, Asking(kOrderOwnMountNamespace | kOrderOwnPidNamespace));
  EXPECT_EQ(result.out, "ran\n") << result.last().text;
}

bool HostSharesMounts() {
  std::ifstream file("/proc/self/mountinfo");
  std::stringstream text;
  text << file.rdbuf();
  const std::string table = text.str();
  SharedMounts shared;
  shared.Take(table.data(), table.size());
  return shared.found();
}

// hosts/mounts/made-shared.mjs has a host that changes from the one to the other.
TEST(OwnMountsTest, AreThoseThatNobodySharesWithUs) {
  const RunResult result = RunCommand(Mode::kSubreaper, Asking(kOrderOwnMounts));
  EXPECT_EQ(result.last().kind == ReportKind::kRefused, HostSharesMounts()) << result.last().text;
  EXPECT_EQ(result.last().shared_mounts != 0, HostSharesMounts());
}

// bwrap makes all of its mounts follow the host's: they follow nothing where nothing is shared.
TEST(OwnMountsTest, AreThoseOfASandboxUnlessTheHostSharesItsOwn) {
  if (!BwrapProblem().empty()) GTEST_SKIP() << BwrapProblem();
  const RunResult result = RunCommand(Mode::kInit, Asking(kOrderOwnMounts));
  EXPECT_EQ(result.last().shared_mounts != 0, HostSharesMounts()) << result.last().text;
  EXPECT_EQ(result.out == "ran\n", !HostSharesMounts());
}

}  // namespace
}  // namespace native_runner

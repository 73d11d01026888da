// A clone shares nothing with other clones, with its template and with the host.

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>
#include <sstream>

#include "tests/launcher/namespaces/template_fixture.h"

namespace native_runner {
namespace {

class CloneIsolationTest : public TemplateFixture {
 protected:
  // A clone that has said "up" and waits for its end.
  static CloneHost Standing(LauncherHost& made, const std::string& script) {
    auto clone = made.Clone();
    clone->SendOrder(Shell(script + "; echo up; sleep 600"));
    EXPECT_NE(clone->ReadOut(3).find("up"), std::string::npos);
    return clone;
  }

  static std::vector<std::string> Lines(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
      lines.push_back(line);
    return lines;
  }
};

TEST_F(CloneIsolationTest, TwoAtOnceDoNotSeeEachOther) {
  const auto made = Start();
  const auto first = Standing(*made, "echo secret > /dev/shm/file; (sleep 601 &)");
  const std::string look =
      "; ls /dev/shm; cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 60[1]' || "
      "true";
  EXPECT_EQ(Out(*made, "true" + look), "0\n");
  EXPECT_EQ(Out(*made, "echo > /dev/shm/file; (sleep 601 > /dev/null &)" + look), "file\n1\n")
      << "the control";
  EXPECT_EQ(Out(*made, "cat /proc/1/comm"), "launcher\n") << "its own";
}

constexpr const char* kNamespaces =
    "for n in user pid mnt ipc uts cgroup net; do readlink /proc/self/ns/$n; done";

TEST_F(CloneIsolationTest, NoNamespaceIsAnybodyElses) {
  const auto made = Start();
  auto first = made->Clone();
  first->SendOrder(Shell(std::string(kNamespaces) + "; echo up; sleep 600"));
  std::string text;
  for (std::size_t seen = 0; text.find("\nup\n") == std::string::npos; seen = text.size()) {
    text = first->ReadOut(seen + 1);
    ASSERT_GT(text.size(), seen);
  }
  const auto one = Lines(text);
  const auto other = Lines(Out(*made, kNamespaces));
  LauncherHost host(Mode::kSubreaper);
  host.SendOrder({.argv = {"/bin/sh", "-c", kNamespaces}});
  const auto hosts = Lines(host.Finish().out);
  ASSERT_EQ(one.size(), 8u) << text;
  ASSERT_EQ(other.size(), 7u);
  ASSERT_EQ(hosts.size(), 7u);
  for (std::size_t at = 0; at < 7; ++at)
    EXPECT_EQ((std::set<std::string>{one[at], other[at], hosts[at]}).size(), 3u) << one[at];
}

TEST_F(CloneIsolationTest, WithoutANetworkOfItsOwnItIsTheTemplates) {
  const auto made = Start({Proc(), Leave()});
  const std::string script = "readlink /proc/self/ns/net";
  EXPECT_EQ(Out(*made, script), Out(*made, script));
  EXPECT_NE(Out(*Start(), script), Out(*Start(), script)) << "the control";
}

TEST_F(CloneIsolationTest, NoCapabilityIsLeft) {
  OrderSpec order{.argv = {"/bin/grep", "-E", "Cap|NoNewPrivs", "/proc/self/status"}};
  order.header.flags = kOrderNoCapabilities | kOrderNoNewPrivs;
  const std::string none(16, '0');
  EXPECT_EQ(RunIn(*Start(), order).out, "CapInh:\t" + none + "\nCapPrm:\t" + none + "\nCapEff:\t" +
                                            none + "\nCapBnd:\t" + none + "\nCapAmb:\t" + none +
                                            "\nNoNewPrivs:\t1\n");
}

// The mounts belong to the user namespace that the clone has left.
TEST_F(CloneIsolationTest, ItsMountsAreNotInItsPower) {
  if (geteuid() == 0) GTEST_SKIP() << "with a read-only /proc unshare(1) can't set its ids";
  const auto made = Start({Proc(), "d/dev/pts", "t/dev/shm", "n", Leave("")});
  EXPECT_EQ(Out(*made, "unshare -Ur true && echo may"), "may\n") << "the control";
  EXPECT_EQ(Out(*made, "unshare -Ur umount /dev/shm 2>/dev/null || echo refused"), "refused\n");
  EXPECT_EQ(Out(*made, "unshare -Urm umount /dev/shm 2>/dev/null || echo refused"), "refused\n");
  EXPECT_EQ(Out(*made, "unshare -Urm mount -o remount,rw / 2>/dev/null || echo refused"),
            "refused\n");
  EXPECT_EQ(Out(*made, "unshare -Ur hostname other 2>/dev/null || echo refused"), "refused\n");
}

TEST_F(CloneIsolationTest, ACommandHasThreeDescriptors) {
  const auto made = Start();
  const auto another = Standing(*made, "true");
  const RunResult result = RunIn(*made, {.argv = {ProbePath(), "fds"}});
  EXPECT_EQ(result.out, "0 1 2 ") << result.last().text;
}

TEST_F(CloneIsolationTest, NobodyLooksIntoTheLauncher) {
  const auto made = Start();
  EXPECT_EQ(Out(*made,
                "readlink /proc/1/fd/3; ls /proc/1/root/ /proc/1/cwd/ 2>/dev/null | "
                "wc -l; cat /proc/1/maps /proc/1/environ 2>/dev/null | wc -c"),
            "0\n0\n");
}

TEST_F(CloneIsolationTest, TheFirstProcessLeadsASessionOfItsOwn) {
  EXPECT_EQ(Out(*Start(), "awk '{ print $1, $5, $6 }' /proc/1/stat"), "1 1 1\n");
}

TEST_F(CloneIsolationTest, SignalsOfTheTemplateAreNotInherited) {
  OrderSpec order{.argv = {ProbePath(), "signals"}};
  EXPECT_EQ(RunIn(*Start(), order).out, "");
}

}  // namespace
}  // namespace native_runner

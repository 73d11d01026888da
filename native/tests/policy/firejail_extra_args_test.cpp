#include <gtest/gtest.h>

#include "policy/firejail.h"

namespace native_runner {
namespace {

LayerSet UndoneBy(const std::string& word) {
  return FirejailExtraArgs({word})[0].undone;
}
bool Opens(const std::string& word) {
  return FirejailExtraArgs({word})[0].opens;
}

TEST(FirejailExtraArgs, TellsWhichLayersAreUndone) {
  const LayerSet files = {Layer::kHiddenFiles, Layer::kSecretsMasked};
  const LayerSet all = {Layer::kHiddenFiles, Layer::kSecretsMasked, Layer::kReadOnlyRoot};
  EXPECT_EQ(UndoneBy("--noblacklist=/opt"), files);
  EXPECT_EQ(UndoneBy("--whitelist=/opt/data"), files);
  EXPECT_EQ(UndoneBy("--keep-dev-shm"), files);
  EXPECT_EQ(UndoneBy("--bind=/data,/opt"), all);
  EXPECT_EQ(UndoneBy("--chroot=/other"), all);
  EXPECT_EQ(UndoneBy("--read-write=/usr/local"), LayerSet{Layer::kReadOnlyRoot});
  EXPECT_EQ(UndoneBy("--writable-etc"), LayerSet{Layer::kReadOnlyRoot});
  EXPECT_EQ(UndoneBy("--net=eth0"), LayerSet{Layer::kNetworkNamespace});
  EXPECT_EQ(UndoneBy("--netns=other"), LayerSet{Layer::kNetworkNamespace});
  EXPECT_EQ(UndoneBy("--caps.keep=sys_admin"), LayerSet{Layer::kNoCapabilities});
}

TEST(FirejailExtraArgs, LeavesAloneWhatTakesAway) {
  for (const char* word :
       {"--net=none", "--caps.drop=all", "--blacklist=/x", "--read-only=/x", "--noexec=/tmp",
        "--private-etc=passwd", "--private", "--seccomp", "--seccomp.drop=ptrace", "--hostname=box",
        "--rlimit-nofile=9", "--dbus-user=none", "--protocol=unix", "--tmpfs=/x"}) {
    EXPECT_FALSE(Opens(word)) << word;
    EXPECT_EQ(UndoneBy(word), LayerSet{}) << word;
  }
}

TEST(FirejailExtraArgs, TakesAnUnknownOneForOneThatOpens) {
  for (const char* word : {"--x11", "--allow-debuggers", "--invented", "--private-invented=/x",
                           "--net", "--nonewprivs-not", "--blacklisted"}) {
    EXPECT_TRUE(Opens(word)) << word;
  }
  EXPECT_EQ(UndoneBy("--invented"), LayerSet{});
}

TEST(FirejailExtraArgs, KeepsTheTextAndTheOrder) {
  const auto args = FirejailExtraArgs({"--whitelist=/a b", "--tmpfs=/x"});
  ASSERT_EQ(args.size(), 2u);
  EXPECT_EQ(args[0].text, "--whitelist=/a b");
  EXPECT_EQ(args[1].text, "--tmpfs=/x");
}

}  // namespace
}  // namespace native_runner

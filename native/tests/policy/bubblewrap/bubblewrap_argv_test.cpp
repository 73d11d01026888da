#include <gtest/gtest.h>

#include <algorithm>

#include "policy/bubblewrap/bubblewrap_plan.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

Mount Bind(Mount::Kind kind, int descriptor) {
  return {.kind = kind, .source = "/s", .target = "/t", .descriptor = descriptor};
}

TEST(BubblewrapOptions, SpellsEachMount) {
  struct Case {
    Mount mount;
    Texts options;
  };
  using Kind = Mount::Kind;
  const Case cases[] = {
      {Bind(Kind::kReadOnlyBind, -1), {"--ro-bind", "/s", "/t"}},
      {Bind(Kind::kReadOnlyBind, 0), {"--ro-bind-fd", "0", "/t"}},
      {Bind(Kind::kBind, -1), {"--bind", "/s", "/t"}},
      {Bind(Kind::kBind, 17), {"--bind-fd", "17", "/t"}},
      {{.kind = Kind::kSymlink, .source = "usr/bin", .target = "/bin"},
       {"--symlink", "usr/bin", "/bin"}},
      {{.kind = Kind::kProc, .source = "", .target = "/proc"}, {"--proc", "/proc"}},
      {{.kind = Kind::kDev, .source = "", .target = "/dev"}, {"--dev", "/dev"}},
      {{.kind = Kind::kTmpfs, .source = "", .target = "/tmp"}, {"--tmpfs", "/tmp"}},
      {{.kind = Kind::kTmpfs, .source = "", .target = "/tmp", .descriptor = -1, .size_bytes = 4096},
       {"--size", "4096", "--tmpfs", "/tmp"}},
      {{.kind = Kind::kDirectory, .source = "", .target = "/d"}, {"--dir", "/d"}},
      {{.kind = Kind::kRemountReadOnly, .source = "", .target = "/"}, {"--remount-ro", "/"}},
      {{.kind = Kind::kProgram, .source = "", .target = "/p", .descriptor = 5},
       {"--perms", "0555", "--ro-bind-data", "5", "/p"}},
  };
  for (const Case& c : cases) {
    BubblewrapPlan plan;
    plan.mounts = {c.mount};
    plan.chdir = "/c";
    Texts expected = {"--die-with-parent", "--new-session"};
    expected.insert(expected.end(), c.options.begin(), c.options.end());
    expected.insert(expected.end(), {"--chdir", "/c"});
    EXPECT_EQ(BubblewrapOptions(plan), expected);
  }
}

TEST(BubblewrapOptions, SpellsTheHardening) {
  BubblewrapPlan plan;
  plan.chdir = "/";
  plan.hardening = {.die_with_parent = true,
                    .new_session = true,
                    .unshare_net = true,
                    .isolate = true,
                    .disable_userns = true,
                    .as_pid_1 = true};
  EXPECT_EQ(BubblewrapOptions(plan),
            (Texts{"--die-with-parent", "--new-session", "--unshare-net", "--unshare-user",
                   "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
                   "--cap-drop", "ALL", "--disable-userns", "--as-pid-1", "--chdir", "/"}));
  plan.hardening = {.die_with_parent = false, .new_session = false};
  EXPECT_EQ(BubblewrapOptions(plan), (Texts{"--chdir", "/"}));
}

using Layers = std::vector<Layer>;

TEST(BubblewrapLayers, NamesOnlyWhatIsAskedFor) {
  BubblewrapPlan plan;
  EXPECT_EQ(BubblewrapLayers(plan), (Layers{Layer::kMountNamespace}));
  plan.hardening.unshare_net = true;
  EXPECT_EQ(BubblewrapLayers(plan), (Layers{Layer::kMountNamespace, Layer::kNetworkNamespace}));
  plan.hardening.isolate = true;
  plan.hardening.disable_userns = true;
  EXPECT_EQ(BubblewrapLayers(plan),
            (Layers{Layer::kMountNamespace, Layer::kUserNamespace, Layer::kPidNamespace,
                    Layer::kIpcNamespace, Layer::kUtsNamespace, Layer::kCgroupNamespace,
                    Layer::kNetworkNamespace, Layer::kNoCapabilities, Layer::kUsernsDisabled}));
}

TEST(BubblewrapLayers, ReadOnlyRootAndMasksComeFromTheMounts) {
  BubblewrapPlan plan;
  plan.hardening.isolate = true;
  const auto has = [&plan](Layer layer) {
    const Layers layers = BubblewrapLayers(plan);
    return std::find(layers.begin(), layers.end(), layer) != layers.end();
  };
  EXPECT_FALSE(has(Layer::kReadOnlyRoot));
  EXPECT_FALSE(has(Layer::kSecretsMasked));
  plan.mounts = {{.kind = Mount::Kind::kRemountReadOnly, .source = "", .target = "/dev"}};
  EXPECT_FALSE(has(Layer::kReadOnlyRoot));
  plan.mounts = {{.kind = Mount::Kind::kRemountReadOnly, .source = "", .target = "/"}};
  EXPECT_TRUE(has(Layer::kReadOnlyRoot));
  plan.mounts = {{.kind = Mount::Kind::kReadOnlyBind, .source = "/", .target = "//"}};
  EXPECT_TRUE(has(Layer::kReadOnlyRoot));
  plan.hardening.isolate = false;
  EXPECT_FALSE(has(Layer::kReadOnlyRoot));
  plan.secrets_masked = true;
  EXPECT_TRUE(has(Layer::kSecretsMasked));
}

}  // namespace
}  // namespace native_runner

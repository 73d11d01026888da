#include "policy/bubblewrap/bubblewrap_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/text/path.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

BubblewrapPolicy Policy(Texts ro_binds, Isolation isolation = Isolation::kStrict) {
  BubblewrapPolicy policy;
  policy.shadow_dir = "/host/shadow";
  policy.ro_binds = std::move(ro_binds);
  policy.ro_binds_named = true;
  policy.isolation = isolation;
  return policy;
}

Texts Options(const BubblewrapPolicy& policy, const HostFacts& facts, int descriptor = -1,
              std::uint64_t tmp_bytes = 0) {
  return BubblewrapOptions(
      PlanBubblewrap(policy, facts, "/real/ws", descriptor, "/workspace/a", tmp_bytes));
}

// True if `options` contain `part` without a gap.
bool Has(const Texts& options, const Texts& part) {
  return std::search(options.begin(), options.end(), part.begin(), part.end()) != options.end();
}

const Texts kStart = {
    "--die-with-parent", "--new-session", "--unshare-net",    "--unshare-user", "--unshare-pid",
    "--unshare-ipc",     "--unshare-uts", "--unshare-cgroup", "--cap-drop",     "ALL"};

using Layers = std::vector<Layer>;

Texts operator+(Texts a, const Texts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(PlanPureBubblewrap, StrictIsDocumentOneWithHardeningBefore) {
  BubblewrapPolicy policy;
  policy.shadow_dir = "/host/shadow";
  EXPECT_EQ(
      BubblewrapOptions(PlanPureBubblewrap(policy, "/workspace")),
      (kStart + Texts{"--proc",    "/proc",     "--dev", "/dev",      "--tmpfs",      "/tmp",
                      "--ro-bind", "/usr",      "/usr",  "--ro-bind", "/bin",         "/bin",
                      "--ro-bind", "/lib",      "/lib",  "--ro-bind", "/lib64",       "/lib64",
                      "--ro-bind", "/etc",      "/etc",  "--bind",    "/host/shadow", "/workspace",
                      "--chdir",   "/workspace"}));
}

TEST(PlanPureBubblewrap, CompatIsExactlyDocumentOne) {
  BubblewrapPolicy policy = Policy({"/x", "/a"}, Isolation::kCompat);
  policy.network = Network::kAllow;
  EXPECT_EQ(BubblewrapOptions(PlanPureBubblewrap(policy, "/workspace/d")),
            (Texts{"--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev",
                   "--tmpfs", "/tmp", "--ro-bind", "/x", "/x", "--ro-bind", "/a", "/a", "--bind",
                   "/host/shadow", "/workspace", "--chdir", "/workspace/d"}));
  policy.network = Network::kDeny;
  EXPECT_TRUE(Has(BubblewrapOptions(PlanPureBubblewrap(policy, "/")), {"--unshare-net"}));
  policy.ro_binds.clear();  // an empty list that was named stays empty
  EXPECT_FALSE(Has(BubblewrapOptions(PlanPureBubblewrap(policy, "/")), {"--ro-bind"}));
}

TEST(PlanBubblewrap, StrictSealsTheRootBeforeTheWorkspace) {
  EXPECT_EQ(Options(Policy({"/usr"}), {}),
            (kStart + Texts{"--as-pid-1", "--proc",     "/proc",        "--dev",  "/dev",
                            "--tmpfs",    "/tmp",       "--ro-bind",    "/usr",   "/usr",
                            "--dir",      "/workspace", "--remount-ro", "/",      "--remount-ro",
                            "/dev",       "--tmpfs",    "/dev/shm",     "--bind", "/real/ws",
                            "/workspace", "--chdir",    "/workspace/a"}));
}

TEST(PlanBubblewrap, AWorkspaceThatMayNotBeWrittenIsRemountedLast) {
  const Texts sealed = {"--bind",       "/real/ws",   "/workspace",
                        "--remount-ro", "/workspace", "--chdir"};
  for (const Isolation isolation : {Isolation::kStrict, Isolation::kCompat}) {
    BubblewrapPolicy policy = Policy({"/usr"}, isolation);
    EXPECT_FALSE(Has(Options(policy, {}), {"--remount-ro", "/workspace"}));
    policy.write_workspace = false;
    EXPECT_TRUE(Has(Options(policy, {}), sealed));
  }
}

TEST(PlanBubblewrap, UsesWhatTheHostOffers) {
  HostFacts facts;
  facts.bwrap_bind_fd = true;
  facts.bwrap_disable_userns = true;
  facts.is_root = true;
  const Texts options = Options(Policy({"/usr"}), facts, 7, 65536);
  EXPECT_TRUE(Has(options, {"--disable-userns", "--as-pid-1"}));
  EXPECT_TRUE(Has(options, {"--size", "65536", "--tmpfs", "/tmp"}));
  EXPECT_TRUE(Has(options, {"--size", "65536", "--tmpfs", "/dev/shm"}));
  EXPECT_TRUE(Has(options, {"--remount-ro", "/proc", "--bind-fd", "7", "/workspace", "--chdir"}));
  facts.bwrap_bind_fd = false;
  EXPECT_TRUE(Has(Options(Policy({"/usr"}), facts, 7), {"--bind", "/real/ws", "/workspace"}));
}

TEST(PlanBubblewrap, CompatIsDocumentOneWhateverTheHostOffers) {
  HostFacts facts;
  facts.bwrap_disable_userns = true;
  facts.is_root = true;
  facts.secret_files = {"/usr/secret"};
  EXPECT_EQ(Options(Policy({"/usr"}, Isolation::kCompat), facts, -1, 65536),
            (Texts{"--die-with-parent", "--new-session", "--unshare-net", "--proc", "/proc",
                   "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr", "--bind",
                   "/real/ws", "/workspace", "--chdir", "/workspace/a"}));
}

TEST(PlanBubblewrap, MasksComeAfterTheBindsAndForRootOnly) {
  HostFacts facts;
  facts.is_root = true;
  facts.secret_files = {"/etc/shadow"};
  facts.secret_directories = {"/etc/ssl/private"};
  EXPECT_TRUE(Has(Options(Policy({"/etc", "/usr"}), facts),
                  {"--ro-bind", "/usr", "/usr", "--tmpfs", "/etc/ssl/private", "--remount-ro",
                   "/etc/ssl/private", "--ro-bind", "/dev/null", "/etc/shadow", "--dir"}));
  facts.is_root = false;
  EXPECT_FALSE(Has(Options(Policy({"/etc"}), facts), {"/etc/shadow"}));
}

TEST(PlanBubblewrap, ABindOfTheRootComesFirstAndIsNotRemounted) {
  for (const char* root : {"/", "//", "/."}) {
    HostFacts facts;
    facts.is_root = true;
    facts.secret_files = {"/root/.netrc"};
    const Texts options = Options(Policy({"/usr", root, root}), facts);
    EXPECT_TRUE(Has(options, {"--as-pid-1", "--ro-bind", root, root, "--proc", "/proc"}));
    EXPECT_TRUE(Has(options, {"--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr", "--ro-bind",
                              "/dev/null", "/root/.netrc", "--remount-ro", "/dev"}));
    EXPECT_FALSE(Has(options, {"--dir"}));
    EXPECT_FALSE(Has(options, {"--remount-ro", "/"}));
    EXPECT_EQ(std::count(options.begin(), options.end(), root), 2);
  }
}

TEST(PlanBubblewrap, ABindInTheSharedMemoryIsNotHidden) {
  EXPECT_FALSE(Has(Options(Policy({"/dev/shm/x"}), {}), {"--tmpfs", "/dev/shm"}));
  EXPECT_TRUE(Has(Options(Policy({"/dev/shmem"}), {}), {"--tmpfs", "/dev/shm"}));
}

TEST(PlanBubblewrap, WithoutProcTheLauncherIsAFileOfItsOwn) {
  BubblewrapPolicy policy = Policy({"/usr"});
  policy.with_proc = false;
  HostFacts facts;
  facts.is_root = true;
  const auto plan = PlanBubblewrap(policy, facts, "/ws", -1, "/workspace", 0, 5);
  const Texts options = BubblewrapOptions(plan);
  EXPECT_TRUE(Has(options, {"--perms", "0555", "--ro-bind-data", "5", kLauncherFile, "--dir",
                            "/workspace", "--remount-ro", "/", "--remount-ro", "/dev"}));
  EXPECT_FALSE(Has(options, {"--proc"}));
  EXPECT_FALSE(Has(options, {"/proc"}));
  const Layers layers = BubblewrapLayers(plan);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), Layer::kNoProc), 1);

  policy.ro_binds = {"/usr", "/proc/sys"};
  const Layers bound = BubblewrapLayers(PlanBubblewrap(policy, facts, "/ws", -1, "/workspace", 0));
  EXPECT_EQ(std::count(bound.begin(), bound.end(), Layer::kNoProc), 0);
}

TEST(PlanBubblewrap, LayersTellWhatIsInForce) {
  HostFacts facts;
  const auto layers = [&facts](Isolation isolation) {
    return BubblewrapLayers(
        PlanBubblewrap(Policy({"/usr"}, isolation), facts, "/ws", -1, "/workspace", 0));
  };
  Layers strict = {Layer::kMountNamespace,   Layer::kUserNamespace,  Layer::kPidNamespace,
                   Layer::kIpcNamespace,     Layer::kUtsNamespace,   Layer::kCgroupNamespace,
                   Layer::kNetworkNamespace, Layer::kNoCapabilities, Layer::kReadOnlyRoot};
  EXPECT_EQ(layers(Isolation::kStrict), strict);
  facts.is_root = true;
  strict.push_back(Layer::kSecretsMasked);
  EXPECT_EQ(layers(Isolation::kStrict), strict);
  EXPECT_EQ(layers(Isolation::kCompat), (Layers{Layer::kMountNamespace, Layer::kNetworkNamespace}));
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_mounts.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

HostMount Of(std::string host_path, std::string guest_path, bool writable = false) {
  return {.label = std::nullopt,
          .host_path = std::move(host_path),
          .guest_path = std::move(guest_path),
          .writable = writable};
}

BubblewrapPolicy Policy(std::vector<HostMount> mounts, Texts ro_binds = {"/usr"}) {
  BubblewrapPolicy policy;
  policy.shadow_dir = "/host/shadow";
  policy.ro_binds = std::move(ro_binds);
  policy.ro_binds_named = true;
  policy.mounts = std::move(mounts);
  return policy;
}

BubblewrapPlan Plan(const BubblewrapPolicy& policy, const HostFacts& facts = {},
                    int descriptor = -1) {
  return PlanBubblewrap(policy, facts, "/real/ws", descriptor, "/workspace", 0);
}

// The options from the read-only binds on.
Texts Tail(const BubblewrapPlan& plan) {
  Texts options = BubblewrapOptions(plan);
  const auto tmp = std::find(options.begin(), options.end(), "/tmp");
  if (tmp != options.end()) options.erase(options.begin(), tmp + 1);
  return options;
}

TEST(PlanHostMounts, StandBetweenTheReadOnlyBindsAndTheWorkspaceInTheirOrder) {
  const BubblewrapPolicy policy = Policy({Of("/z", "/data//z/", true), Of("/a", "/workspace/./in"),
                                          Of("/b", "/a"), Of("/c", "/workspace/x", true)});
  EXPECT_EQ(Tail(Plan(policy)),
            (Texts{"--ro-bind", "/usr",         "/usr",          "--bind",
                   "/z",        "/data/z",      "--ro-bind",     "/b",
                   "/a",        "--dir",        "/workspace",    "--remount-ro",
                   "/",         "--remount-ro", "/dev",          "--tmpfs",
                   "/dev/shm",  "--bind",       "/real/ws",      "/workspace",
                   "--ro-bind", "/a",           "/workspace/in", "--bind",
                   "/c",        "/workspace/x", "--chdir",       "/workspace"}));
}

TEST(PlanHostMounts, CompatHasThemToo) {
  BubblewrapPolicy policy = Policy({Of("/z", "/data"), Of("/a", "/workspace/in")});
  policy.isolation = Isolation::kCompat;
  EXPECT_EQ(Tail(Plan(policy)),
            (Texts{"--ro-bind", "/usr", "/usr", "--ro-bind", "/z", "/data", "--bind", "/real/ws",
                   "/workspace", "--ro-bind", "/a", "/workspace/in", "--chdir", "/workspace"}));
  EXPECT_EQ(
      Tail(PlanPureBubblewrap(policy, "/workspace")),
      (Texts{"--ro-bind", "/usr", "/usr", "--ro-bind", "/z", "/data", "--bind", "/host/shadow",
             "/workspace", "--ro-bind", "/a", "/workspace/in", "--chdir", "/workspace"}));
}

TEST(PlanHostMounts, AreBoundByDescriptorFromTheRealPath) {
  HostFacts facts;
  facts.mounts = {"/real/z", "/real/a"};
  const BubblewrapPolicy policy = Policy({Of("/z", "/data", true), Of("/a", "/workspace/in")});
  const Texts by_path = Tail(Plan(policy, facts, 6));
  EXPECT_NE(std::find(by_path.begin(), by_path.end(), "/real/z"), by_path.end());
  facts.bwrap_bind_fd = true;
  EXPECT_EQ(Tail(Plan(policy, facts, 6)), (Texts{"--ro-bind",
                                                 "/usr",
                                                 "/usr",
                                                 "--bind-fd",
                                                 "7",
                                                 "/data",
                                                 "--dir",
                                                 "/workspace",
                                                 "--remount-ro",
                                                 "/",
                                                 "--remount-ro",
                                                 "/dev",
                                                 "--tmpfs",
                                                 "/dev/shm",
                                                 "--bind-fd",
                                                 "6",
                                                 "/workspace",
                                                 "--ro-bind-fd",
                                                 "8",
                                                 "/workspace/in",
                                                 "--chdir",
                                                 "/workspace"}));
}

TEST(PlanHostMounts, AWorkspaceThatMayNotBeWrittenIsSealedBeforeThoseInIt) {
  BubblewrapPolicy policy = Policy({Of("/out", "/workspace/out", true)});
  policy.write_workspace = false;
  const Texts options = Tail(Plan(policy));
  const Texts end = {"--remount-ro",   "/workspace", "--bind",    "/out",
                     "/workspace/out", "--chdir",    "/workspace"};
  ASSERT_GE(options.size(), end.size());
  EXPECT_TRUE(std::equal(end.rbegin(), end.rend(), options.rbegin()));
}

// A link that a mount stands at or in would lead bwrap away from there.
TEST(PlanHostMounts, MakeARealDirectoryOfALinkThatTheyStandIn) {
  HostFacts facts;
  facts.links = {{"usr/lib", "/lib"}, {"usr/bin", "/bin"}};
  const BubblewrapPolicy policy = Policy({Of("/m", "/lib/modules")}, {"/usr", "/lib", "/bin"});
  const Texts options = Tail(Plan(policy, facts));
  const Texts wanted = {"--ro-bind", "/usr",    "/usr", "--ro-bind", "/lib", "/lib",
                        "--symlink", "usr/bin", "/bin", "--ro-bind", "/m",   "/lib/modules"};
  ASSERT_GE(options.size(), wanted.size());
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), options.begin()));
}

// Places of masks in a plan: those of files, of root's.
Texts Masked(const std::vector<HostMount>& mounts, Texts ro_binds = {"/usr"}) {
  HostFacts facts;
  facts.is_root = true;
  facts.secret_files = {"/etc/shadow", "/etc/ssl/key"};
  Texts places;
  for (const Mount& mount : Plan(Policy(mounts, std::move(ro_binds)), facts).mounts) {
    if (mount.source == "/dev/null") places.push_back(mount.target);
  }
  return places;
}

TEST(PlanHostMounts, SecretsAreMaskedWhereverAMountShowsThem) {
  EXPECT_EQ(Masked({}), Texts{});
  EXPECT_EQ(Masked({}, {"/etc"}), (Texts{"/etc/shadow", "/etc/ssl/key"}));
  EXPECT_EQ(Masked({Of("/etc", "/mnt/etc")}), (Texts{"/mnt/etc/shadow", "/mnt/etc/ssl/key"}));
  EXPECT_EQ(Masked({Of("/etc", "/mnt/etc", true)}), (Texts{"/mnt/etc/shadow", "/mnt/etc/ssl/key"}));
  EXPECT_EQ(Masked({Of("/", "/host")}), (Texts{"/host/etc/shadow", "/host/etc/ssl/key"}));
  EXPECT_EQ(Masked({Of("/etc/shadow", "/x")}), Texts{"/x"});
  EXPECT_EQ(Masked({Of("/etc", "/workspace/etc")}),
            (Texts{"/workspace/etc/shadow", "/workspace/etc/ssl/key"}));
  EXPECT_EQ(Masked({Of("/etc", "/a"), Of("/etc/ssl", "/b")}),
            (Texts{"/a/shadow", "/a/ssl/key", "/b/key"}));
  EXPECT_EQ(Masked({Of("/srv", "/etc")}), Texts{});
  EXPECT_EQ(Masked({Of("/etc", "/a"), Of("/srv", "/a/ssl")}), Texts{"/a/shadow"})
      << "a mask in what another mount hides would be made in that one";
}

TEST(PlanHostMounts, SecretsAreMaskedAtTheRealPath) {
  HostFacts facts;
  facts.is_root = true;
  facts.secret_files = {"/etc/shadow"};
  facts.mounts = {"/etc"};
  const BubblewrapPlan plan = Plan(Policy({Of("/link", "/mnt")}), facts);
  EXPECT_TRUE(std::any_of(plan.mounts.begin(), plan.mounts.end(),
                          [](const Mount& mount) { return mount.target == "/mnt/shadow"; }));
}

TEST(BubblewrapLayers, HaveNoProcOnlyWithoutTheHostsProc) {
  const auto has = [](const HostMount& mount) {
    BubblewrapPolicy policy = Policy({mount});
    policy.with_proc = false;
    const auto layers = BubblewrapLayers(Plan(policy));
    return std::find(layers.begin(), layers.end(), Layer::kNoProc) != layers.end();
  };
  EXPECT_TRUE(has(Of("/srv", "/x")));
  EXPECT_FALSE(has(Of("/", "/x")));
  EXPECT_FALSE(has(Of("/proc/1", "/x")));
}

TEST(BubblewrapLayers, HaveAReadOnlyRootUnlessAMountOpensTheSystem) {
  const auto has = [](const HostMount& mount) {
    const auto layers = BubblewrapLayers(Plan(Policy({mount})));
    return std::find(layers.begin(), layers.end(), Layer::kReadOnlyRoot) != layers.end();
  };
  EXPECT_TRUE(has(Of("/srv", "/x", true)));
  EXPECT_TRUE(has(Of("/etc", "/x")));
  EXPECT_TRUE(has(Of("/srv", "/usr/share")));
  EXPECT_FALSE(has(Of("/etc/app", "/x", true)));
  EXPECT_FALSE(has(Of("/srv", "/usr/share", true)));
  EXPECT_FALSE(has(Of("/", "/host", true)));
}

std::string Text(const MountPoint& point) {
  std::string text = std::to_string(point.mount) + " in " + point.base_path + ": " + point.below;
  if (point.base == MountPoint::Base::kMount)
    text += " of mount " + std::to_string(point.base_mount);
  if (point.base == MountPoint::Base::kWorkspaceBind) text += " of workspace";
  return point.may_make ? text + " or made" : text;
}

TEST(FindMountPoints, AreTheHostsWhereAnEarlierMountShowsThem) {
  const BubblewrapPolicy policy = Policy(
      {Of("/a", "/data", true), Of("/b", "/data/b"), Of("/c", "/data/b/c/d"), Of("/d", "/tmp/d"),
       Of("/e", "/usr/e"), Of("/f", "/usr"), Of("/g", "/workspace/g/h"), Of("/h", "/fresh/h")},
      {"/usr"});
  Texts found;
  for (const MountPoint& point : FindMountPoints(Plan(policy)))
    found.push_back(Text(point));
  EXPECT_EQ(found,
            (Texts{"1 in /a: b of mount 0 or made", "2 in /b: c/d of mount 1", "4 in /usr: e",
                   "5 in /usr: ", "6 in /real/ws: g/h of workspace or made"}));
}

TEST(FindMountPoints, AreAllTheHostsUnderItsRoot) {
  const BubblewrapPolicy policy = Policy({Of("/a", "/srv/a"), Of("/b", "/tmp/b")}, {"/"});
  Texts found;
  for (const MountPoint& point : FindMountPoints(Plan(policy)))
    found.push_back(Text(point));
  EXPECT_EQ(found, Texts{"0 in /: srv/a"}) << "/tmp is the sandbox's own";
}

}  // namespace
}  // namespace native_runner

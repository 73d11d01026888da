#include <gtest/gtest.h>

#include "policy/bubblewrap/bubblewrap_mounts.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

BubblewrapPolicy Named(Texts ro_binds) {
  BubblewrapPolicy policy;
  policy.ro_binds = std::move(ro_binds);
  policy.ro_binds_named = true;
  return policy;
}

// "bind /a", "link usr/bin /bin", "mask /f", "hide /d": short forms to compare.
Texts Short(const std::vector<Mount>& mounts) {
  Texts texts;
  for (const Mount& mount : mounts) {
    if (mount.kind == Mount::Kind::kSymlink) {
      texts.push_back("link " + mount.source + " " + mount.target);
    } else if (mount.kind == Mount::Kind::kTmpfs) {
      texts.push_back("hide " + mount.target);
    } else if (mount.kind == Mount::Kind::kRemountReadOnly) {
      texts.push_back("seal " + mount.target);
    } else if (mount.source == "/dev/null") {
      texts.push_back("mask " + mount.target);
    } else {
      EXPECT_EQ(mount.source, mount.target);
      texts.push_back("bind " + mount.target);
    }
  }
  return texts;
}

HostFacts MergedUsr() {
  HostFacts facts;
  facts.links = {{.target = "usr/bin", .path = "/bin"},
                 {.target = "usr/lib", .path = "/lib"},
                 {.target = "/usr/lib64", .path = "/lib64"}};
  return facts;
}

TEST(RoBindsOf, DefaultsOnlyWhenNothingWasNamed) {
  EXPECT_EQ(RoBindsOf(BubblewrapPolicy{}), DefaultRoBinds());
  EXPECT_EQ(RoBindsOf(Named({})), Texts{});
  EXPECT_EQ(RoBindsOf(Named({"/opt"})), Texts{"/opt"});
}

TEST(PlanRoBinds, SkipsMissingDefaultsButNotNamedOnes) {
  HostFacts facts;
  facts.missing = {"/lib64", "/etc"};
  EXPECT_EQ(Short(PlanRoBinds({}, facts)), (Texts{"bind /usr", "bind /bin", "bind /lib"}));
  EXPECT_EQ(Short(PlanRoBinds(Named({"/etc", "/usr"}), facts)), (Texts{"bind /etc", "bind /usr"}));
}

TEST(PlanRoBinds, MakesTheLinksOfAMergedUsrAgain) {
  EXPECT_EQ(Short(PlanRoBinds({}, MergedUsr())),
            (Texts{"bind /usr", "link usr/bin /bin", "link usr/lib /lib", "link /usr/lib64 /lib64",
                   "bind /etc"}));
  EXPECT_EQ(Short(PlanRoBinds(Named({"/bin/", "/usr", "/bin"}), MergedUsr())),
            (Texts{"link usr/bin /bin/", "bind /usr"}));
}

// A link without its target would dangle; the caller asked for what it shows.
TEST(PlanRoBinds, BindsALinkWhoseTargetIsNotBound) {
  EXPECT_EQ(Short(PlanRoBinds(Named({"/bin"}), MergedUsr())), Texts{"bind /bin"});
  EXPECT_EQ(Short(PlanRoBinds(Named({"/bin", "/usr/lib"}), MergedUsr())),
            (Texts{"bind /bin", "bind /usr/lib"}));
  HostFacts facts;  // a link is no home for another link's target
  facts.links = {{.target = "b/x", .path = "/a"}, {.target = "c", .path = "/b"}};
  EXPECT_EQ(Short(PlanRoBinds(Named({"/a", "/b"}), facts)), (Texts{"bind /a", "bind /b"}));
}

TEST(PlanRoBinds, LeavesOutALinkThatAnotherBindShows) {
  EXPECT_EQ(Short(PlanRoBinds(Named({"/", "/bin"}), MergedUsr())), Texts{"bind /"});
  HostFacts facts;
  facts.links = {{.target = "b", .path = "/opt/a"}};
  EXPECT_EQ(Short(PlanRoBinds(Named({"/opt", "/opt/a"}), facts)), Texts{"bind /opt"});
}

TEST(PlanRoBinds, BindsALinkThatMustHoldAMountPoint) {
  EXPECT_EQ(Short(PlanRoBinds(Named({"/usr", "/lib/modules", "/lib"}), MergedUsr())),
            (Texts{"bind /usr", "bind /lib/modules", "bind /lib"}));
}

Texts Masks(Texts ro_binds, HostFacts facts, Texts files, Texts directories = {}) {
  facts.secret_files = std::move(files);
  facts.secret_directories = std::move(directories);
  return Short(PlanMasks(PlanRoBinds(Named(std::move(ro_binds)), facts), facts));
}

TEST(PlanMasks, CoversOnlyWhatIsBound) {
  EXPECT_EQ(Masks({"/etc"}, {}, {"/etc/shadow", "/etcetera/x", "/root/.netrc"}),
            Texts{"mask /etc/shadow"});
  EXPECT_EQ(Masks({"/etc/ssl"}, {}, {"/etc/shadow"}), Texts{});
  EXPECT_EQ(Masks({"/"}, {}, {"/etc/shadow"}), Texts{"mask /etc/shadow"});
  EXPECT_EQ(Masks({"/etc/shadow"}, {}, {"/etc/shadow"}), Texts{"mask /etc/shadow"});
  EXPECT_EQ(Masks({}, {}, {"/etc/shadow"}), Texts{});
}

TEST(PlanMasks, OneMaskAPlaceAndNoneInsideAHiddenDirectory) {
  EXPECT_EQ(Masks({"/etc", "/etc/ssl", "/"}, {}, {"/etc/shadow", "/etc/shadow", "/etc/p/a"},
                  {"/etc/p/q", "/etc/p"}),
            (Texts{"hide /etc/p", "seal /etc/p", "mask /etc/shadow"}));
}

// A link to /etc that is bound shows its files under another name.
TEST(PlanMasks, FollowsABoundLink) {
  HostFacts facts;
  facts.links = {{.target = "../etc", .path = "/opt/config"}};
  EXPECT_EQ(Masks({"/opt/config"}, facts, {"/etc/shadow"}, {"/etc/ssl/private"}),
            (Texts{"hide /opt/config/ssl/private", "seal /opt/config/ssl/private",
                   "mask /opt/config/shadow"}));
  facts.links = {{.target = "/etc/shadow", .path = "/opt/one"}};
  EXPECT_EQ(Masks({"/opt/one"}, facts, {"/etc/shadow"}), Texts{"mask /opt/one"});
  facts.links = {{.target = "/", .path = "/opt/all"}};
  EXPECT_EQ(Masks({"/opt/all"}, facts, {"/etc/shadow"}), Texts{"mask /opt/all/etc/shadow"});
}

}  // namespace
}  // namespace native_runner

// Where a plan has the home and what is shown in it, and how clones get homes of their own.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/options/environment.h"
#include "policy/policy_text.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

using Lines = std::vector<std::string>;

class HomePlanTest : public testing::Test {
 protected:
  HomePlanTest() {
    policy_.shadow_dir = "/host/shadow";
    policy_.ro_binds = {"/usr"};
    policy_.ro_binds_named = true;
    facts_.bwrap_bind_fd = true;
    facts_.bwrap_perms = true;
    facts_.git_config_descriptor = 7;
    view_.path = "/home/ada";
  }

  BubblewrapPlan Plan() {
    facts_.home = std::make_shared<const HomeView>(view_);
    return PlanBubblewrap(policy_, facts_, "/real/ws", 6, kWorkspace, 1000);
  }
  std::string Options() {
    std::string text;
    for (const std::string& option : BubblewrapOptions(Plan()))
      text += option + ' ';
    return text;
  }
  bool Has(const std::string& options) { return Options().find(options) != std::string::npos; }
  Lines Steps() {
    auto made = PlanTemplate(Plan(), {});
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->steps : Lines();
  }
  bool HasStep(const std::string& step) {
    const Lines steps = Steps();
    return std::find(steps.begin(), steps.end(), step) != steps.end();
  }

  BubblewrapPolicy policy_;
  HostFacts facts_;
  HomeView view_;
};

TEST_F(HomePlanTest, AHomeIsATmpfsOfTheUsersOwnBeforeAllBinds) {
  view_.git_config = "[user]\n";
  view_.shown = {{"/data/nvm", "/home/ada/.nvm"}};
  EXPECT_TRUE(
      Has("--perms 0700 --size 1000 --tmpfs /home/ada "
          "--perms 0644 --file 7 /home/ada/.gitconfig "
          "--ro-bind /data/nvm /home/ada/.nvm --ro-bind /usr /usr "))
      << Options();
}

TEST_F(HomePlanTest, CachesAreBoundByNumberAndRecordedByPath) {
  view_.shown = {{"/data/nvm", "/home/ada/.nvm"}};
  view_.caches = {{"npm", "/data/npm", "/home/ada/.npm/_cacache", {}},
                  {"pip", "/data/pip", "/home/ada/.cache/pip", {}}};
  facts_.cache_descriptor = 8;
  EXPECT_TRUE(
      Has("--ro-bind /data/nvm /home/ada/.nvm --bind-fd 8 /home/ada/.npm/_cacache "
          "--bind-fd 9 /home/ada/.cache/pip --ro-bind /usr /usr "))
      << Options();
  EXPECT_FALSE(Has("/data/npm"));
  facts_.cache_descriptor = -1;
  EXPECT_TRUE(
      Has("--overlay-src /data/npm --tmp-overlay /home/ada/.npm/_cacache "
          "--overlay-src /data/pip --tmp-overlay /home/ada/.cache/pip "))
      << Options();
  EXPECT_NE(HomeViewText(view_).find("shown-cache \"/data/npm\" \"/home/ada/.npm/_cacache\"\n"),
            std::string::npos);
}

TEST_F(HomePlanTest, ClonesWouldShareTheWritesToCaches) {
  ASSERT_TRUE(PlanTemplate(Plan(), {}));
  view_.caches = {{"npm", "/data/npm", "/home/ada/.npm/_cacache", {}}};
  const auto made = PlanTemplate(Plan(), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "it shows caches copy-on-write");
}

TEST_F(HomePlanTest, AnOldBwrapHasNoModes) {
  facts_.bwrap_perms = false;
  view_.git_config = "[user]\n";
  EXPECT_TRUE(Has("--size 1000 --tmpfs /home/ada --file 7 /home/ada/.gitconfig "));
  EXPECT_FALSE(Has("--perms"));
}

TEST_F(HomePlanTest, ADirectoryOfTheHostIsBound) {
  view_.directory = "/kept/1";
  view_.git_config = "[user]\n";
  EXPECT_TRUE(Has("--bind /kept/1 /home/ada "));
  EXPECT_FALSE(Has("--file"));
}

TEST_F(HomePlanTest, ClonesShareADirectoryOfTheHost) {
  view_.directory = "/kept/1";
  view_.shown = {{"/data/nvm", "/home/ada/.nvm"}};
  auto made = PlanTemplate(Plan(), {});
  ASSERT_TRUE(made) << made.error().message;
  for (const std::string& step : made->steps)
    EXPECT_FALSE(step.starts_with('h')) << step;
}

TEST_F(HomePlanTest, AMountInADirectoryOfTheHostMayMakeItsPlace) {
  view_.directory = "/kept/1";
  policy_.mounts.resize(1);
  policy_.mounts[0].host_path = "/data";
  policy_.mounts[0].guest_path = "/home/ada/data";
  const auto points = FindMountPoints(Plan());
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].base_path, "/kept/1");
  EXPECT_EQ(points[0].below, "data");
  EXPECT_TRUE(points[0].may_make);
}

TEST_F(HomePlanTest, APrivateTmpCanBeTheHome) {
  view_.path = "/tmp";
  EXPECT_FALSE(Has("0700"));
}

TEST_F(HomePlanTest, AnotherPathLeadsToIt) {
  view_.link = "/root";
  EXPECT_TRUE(Has("--symlink /home/ada /root "));
}

TEST_F(HomePlanTest, WhereLinksOfTheSystemLeadIsShownWithoutAHomeToo) {
  view_.path = "";
  view_.followed = {{"/run/resolve/stub", "/run/resolve/stub"}};
  EXPECT_TRUE(Has("--ro-bind /run/resolve/stub /run/resolve/stub --ro-bind /usr /usr "));
  EXPECT_EQ(HomeViewText(view_), "");
}

TEST_F(HomePlanTest, WhatProgramsRefuseAsNobodysIsEmptyInClonesToo) {
  facts_.unowned_directories = {"/usr/ssh.d", "/etc/ssh.d"};
  EXPECT_TRUE(Has("--tmpfs /usr/ssh.d --remount-ro /usr/ssh.d ")) << Options();
  EXPECT_FALSE(Has("/etc/ssh.d"));  // no bind shows it
  EXPECT_FALSE(HasStep("t/usr/ssh.d"));
}

TEST_F(HomePlanTest, WithoutAViewThereIsNone) {
  view_.path = "";
  EXPECT_FALSE(Has("0700"));
}

TEST_F(HomePlanTest, EachCloneHasAHomeWithTheTemplatesMounts) {
  view_.git_config = "[user]\nname = Ada\n";
  view_.shown = {{"/data/nvm", "/home/ada/.nvm"},
                 {"/dev/null", "/home/ada/.nvm/npmrc"},
                 {"/opt/zig", "/opt/zig"}};
  EXPECT_TRUE(HasStep("h/home/ada\n/home/ada/.nvm"));
  EXPECT_TRUE(HasStep("f/home/ada/.gitconfig\n[user]\nname = Ada\n"));
}

TEST_F(HomePlanTest, AHomeInTmpIsMadeAfterTmp) {
  view_.path = "/tmp/home";
  const Lines steps = Steps();
  const auto tmp = std::find(steps.begin(), steps.end(), "t/tmp");
  EXPECT_NE(std::find(tmp, steps.end(), "h/tmp/home"), steps.end());
}

TEST_F(HomePlanTest, WhatAStepCantNameIsNotCloned) {
  view_.shown = {{"/data/x", "/home/ada/a\nb"}};
  EXPECT_FALSE(PlanTemplate(Plan(), {}));
  view_.shown.clear();
  for (int i = 0; i < 129; ++i)
    view_.shown.push_back({"/data", "/home/ada/" + std::to_string(i)});
  EXPECT_FALSE(PlanTemplate(Plan(), {}));
  view_.shown.pop_back();
  EXPECT_TRUE(PlanTemplate(Plan(), {}));
}

TEST_F(HomePlanTest, TheEnvironmentFits) {
  view_.replaced = {{"PATH", "/inside"}, {"NOT_PASSED", "x"}};
  view_.dropped = {"TMPDIR"};
  const Lines passed = {"A=1", "HOME=/host", "PATH=/host/bin", "TMPDIR=/host/tmp"};
  EXPECT_EQ(FitToHome(passed, view_), (Lines{"A=1", "PATH=/inside", "HOME=/home/ada"}));
  view_.path = "";
  EXPECT_EQ(FitToHome(passed, view_), (Lines{"A=1", "HOME=/host", "PATH=/inside"}));
}

TEST_F(HomePlanTest, ThePolicysTextHasIt) {
  const std::string bare = PolicyText(policy_);
  EXPECT_EQ(bare.find("home"), std::string::npos);
  policy_.home = Home::kPrivate;
  policy_.tools = Tools::kHost;
  policy_.tool_excludes = {"/x"};
  const std::string text = PolicyText(policy_);
  EXPECT_NE(text.find("home private\ntools host\ntool-exclude \"/x\"\n"), std::string::npos)
      << text;
  view_.shown = {{"/a", "/b"}};
  EXPECT_EQ(HomeViewText(view_), "shown \"/a\" \"/b\"\n");
  view_.root = "/images/x/tree";
  EXPECT_EQ(HomeViewText(view_), "shown-root \"/images/x/tree\"\nshown \"/a\" \"/b\"\n");
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "protocol/order.h"
#include "supervise/backends/launcher_backends.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

using Rules = std::vector<std::string>;

class LandlockRulesTest : public testing::Test {
 protected:
  LandlockRulesTest() {
    std::filesystem::create_directories(directory_.Path("read/sub"));
    std::filesystem::create_directories(directory_.Path("write"));
    std::filesystem::create_directories(directory_.Path("work"));
    policy_.read_dirs = {directory_.Path("read")};
    policy_.write_dirs = {directory_.Path("write")};
  }

  // Returns the rules without those of devices, which depend on the host.
  Rules Make() {
    auto made = LandlockRules(policy_, secrets_, directory_.Path("work"));
    EXPECT_TRUE(made) << made.error().message;
    Rules rules;
    if (!made) return rules;
    for (const std::string& rule : *made) {
      if (rule[0] != kRuleDevice) rules.push_back(rule);
    }
    std::sort(rules.begin(), rules.end());
    return rules;
  }

  std::string Rule(char kind, const std::string& name) const {
    return kind + directory_.Path(name);
  }

  TempDirectory directory_;
  LandlockPolicy policy_;
  Secrets secrets_;
};

TEST_F(LandlockRulesTest, AreTheListsAndTheWorkspace) {
  EXPECT_EQ(Make(),
            (Rules{Rule('r', "read"), Rule('r', "work"), Rule('w', "work"), Rule('w', "write")}));
}

TEST_F(LandlockRulesTest, ToolsAreReadAroundTheirSecretsAndTheHomeIsWritten) {
  std::filesystem::create_directories(directory_.Path("tool/bin"));
  std::ofstream(directory_.Path("tool/npmrc")) << "token";
  HomeView view;
  view.shown = {{directory_.Path("tool"), "/named"}, {"/dev/null", directory_.Path("tool/npmrc")}};
  view.followed = {{directory_.Path("read"), "/etc/link"}};
  auto made =
      LandlockRules(policy_, secrets_, directory_.Path("work"), &view, directory_.Path("home"));
  ASSERT_TRUE(made);
  const auto has = [&made](const std::string& rule) {
    return std::find(made->begin(), made->end(), rule) != made->end();
  };
  EXPECT_TRUE(has(Rule('l', "tool")));
  EXPECT_TRUE(has(Rule('e', "tool/bin")));
  EXPECT_TRUE(has(Rule('e', "read")));
  EXPECT_FALSE(has(Rule('e', "tool")));
  EXPECT_FALSE(has(Rule('e', "tool/npmrc")));
  EXPECT_TRUE(has(Rule('r', "home")));
  EXPECT_TRUE(has(Rule('w', "home")));
}

TEST_F(LandlockRulesTest, TheWorkspaceIsLeftOutWhereItIsNotWanted) {
  policy_.read_workspace = false;
  EXPECT_EQ(Make(), (Rules{Rule('r', "read"), Rule('w', "work"), Rule('w', "write")}));
  policy_.write_workspace = false;
  EXPECT_EQ(Make(), (Rules{Rule('r', "read"), Rule('w', "write")}));
}

TEST_F(LandlockRulesTest, DevicesThatEveryProgramNeedsAreThere) {
  auto made = LandlockRules(policy_, secrets_, directory_.Path("work"));
  ASSERT_TRUE(made);
  EXPECT_EQ(std::count(made->begin(), made->end(), "d/dev/null"), 1);
  EXPECT_EQ(std::count(made->begin(), made->end(), "d/dev/urandom"), 1);
  for (const std::string& rule : *made) {
    if (rule[0] != kRuleDevice) continue;
    EXPECT_TRUE(std::filesystem::exists(rule.substr(1))) << rule;
  }
}

TEST_F(LandlockRulesTest, WhatIsMissingIsSkippedWhereItIsADefault) {
  policy_.read_dirs.push_back(directory_.Path("missing"));
  policy_.write_dirs.push_back(directory_.Path("gone"));
  EXPECT_EQ(Make().size(), 4u);
}

TEST_F(LandlockRulesTest, WhatIsMissingIsASetupErrorWhereItWasNamed) {
  policy_.read_dirs.push_back(directory_.Path("missing"));
  policy_.read_dirs_named = true;
  const auto read = LandlockRules(policy_, secrets_, directory_.Path("work"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kSetup);
  EXPECT_EQ(read.error().message,
            "fsReadDirs names \"" + directory_.Path("missing") + "\", which this host lacks");
  EXPECT_FALSE(read.error().fix.empty());

  policy_.read_dirs.pop_back();
  policy_.write_dirs = {directory_.Path("gone")};
  policy_.write_dirs_named = true;
  const auto write = LandlockRules(policy_, secrets_, directory_.Path("work"));
  ASSERT_FALSE(write);
  EXPECT_EQ(write.error().message,
            "fsWriteDirs names \"" + directory_.Path("gone") + "\", which this host lacks");
}

TEST_F(LandlockRulesTest, ALinkIsJudgedWhereItLeads) {
  std::filesystem::create_symlink("read", directory_.Path("link"));
  policy_.read_dirs = {directory_.Path("link")};
  EXPECT_EQ(Make()[0], Rule('r', "read"));
}

class LandlockSecretsTest : public LandlockRulesTest {
 protected:
  LandlockSecretsTest() {
    policy_.read_workspace = policy_.write_workspace = false;
    policy_.write_dirs.clear();
    directory_.Write("read/open", "");
    directory_.Write("read/sub/open", "");
    directory_.Write("read/sub/secret", "");
    secrets_.files = {directory_.Path("read/sub/secret")};
  }
};

TEST_F(LandlockSecretsTest, AreLeftOutOfTheDirectoriesThatHoldThem) {
  EXPECT_EQ(Make(), (Rules{Rule('l', "read"), Rule('l', "read/sub"), Rule('r', "read/open"),
                           Rule('r', "read/sub/open")}));
}

TEST_F(LandlockSecretsTest, LeaveADirectoryWithoutAnyAsItIs) {
  secrets_.files = {directory_.Path("read-not")};
  EXPECT_EQ(Make(), Rules{Rule('r', "read")});
}

TEST_F(LandlockSecretsTest, AreNotReadableByTheirOwnNamesEither) {
  policy_.read_dirs = {directory_.Path("read/sub/secret")};
  EXPECT_EQ(Make(), Rules{});
  secrets_.directories = {directory_.Path("read/sub")};
  policy_.read_dirs = {directory_.Path("read/sub"), directory_.Path("read/sub/open")};
  EXPECT_EQ(Make(), Rules{});
}

TEST_F(LandlockSecretsTest, AreNotReachedByALinkBesideThem) {
  secrets_.directories = {directory_.Path("read/private")};
  std::filesystem::create_directories(directory_.Path("read/private"));
  directory_.Write("read/private/key", "");
  std::filesystem::create_symlink("sub/secret", directory_.Path("read/to-file"));
  std::filesystem::create_symlink("private", directory_.Path("read/to-directory"));
  std::filesystem::create_symlink("private/key", directory_.Path("read/to-what-it-holds"));
  std::filesystem::create_symlink("sub", directory_.Path("read/to-what-holds-one"));
  std::filesystem::create_symlink("nowhere", directory_.Path("read/dangling"));
  std::filesystem::create_symlink("open", directory_.Path("read/harmless"));
  EXPECT_EQ(Make(), (Rules{Rule('l', "read"), Rule('l', "read/sub"), Rule('r', "read/harmless"),
                           Rule('r', "read/open"), Rule('r', "read/sub/open")}));
}

TEST(LandlockRulesInside, WriteWhatBubblewrapLeftWritable) {
  BubblewrapPolicy policy;
  EXPECT_EQ(LandlockRulesInside(policy, nullptr),
            (Rules{"r/", "w/workspace", "w/tmp", "w/dev/shm", "d/dev", "d/proc"}));
  policy.with_proc = false;
  policy.with_dev = false;
  EXPECT_EQ(LandlockRulesInside(policy, nullptr), (Rules{"r/", "w/workspace", "w/tmp"}));
}

}  // namespace
}  // namespace native_runner

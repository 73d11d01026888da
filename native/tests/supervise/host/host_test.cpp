#include "supervise/host/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace host_test {

bool Has(const std::vector<std::string>& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

BubblewrapPolicy With(std::vector<std::string> ro_binds, bool named) {
  BubblewrapPolicy policy;
  policy.ro_binds = std::move(ro_binds);
  policy.ro_binds_named = named;
  return policy;
}

// Long ago, as the host's own directories changed: what is that young is looked at anew anyway.
void WaitUntilSettled() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
}

TEST(Host, ANamedBindThatIsMissingIsASetupErrorThatNamesIt) {
  const TempDirectory directory;
  const std::string missing = directory.Path("missing");
  const auto facts = Host().Look(With({"/usr", missing}, true), {});
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kSetup);
  EXPECT_EQ(facts.error().message, "roBinds names \"" + missing + "\", which this host lacks");
  EXPECT_FALSE(facts.error().fix.empty());

  std::filesystem::create_directory(missing);  // looked at anew for each run
  EXPECT_TRUE(Host().Look(With({"/usr", missing}, true), {}));
}

TEST(Host, ADefaultThatIsMissingIsListed) {
  const TempDirectory directory;
  const std::string missing = directory.Path("missing");
  auto facts = Host().Look(With({"/usr", missing}, false), {});
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->missing, std::vector<std::string>{missing});
}

TEST(Host, FilesAndDirectoriesAreThere) {
  const TempDirectory directory;
  auto facts = Host().Look(With({directory.path(), directory.Write("file", "")}, true), {});
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->missing.empty());
  EXPECT_TRUE(facts->links.empty());
}

std::string TargetOf(const HostFacts& facts, const std::string& path) {
  const auto link = std::find_if(facts.links.begin(), facts.links.end(),
                                 [&](const HostFacts::Link& each) { return each.path == path; });
  return link == facts.links.end() ? "none" : link->target;
}

TEST(Host, MergedUsrIsSeenAsLinks) {
  auto facts = Host().Look(With(DefaultRoBinds(), false), {});
  ASSERT_TRUE(facts);
  for (const std::string& path : DefaultRoBinds()) {
    std::string expected = "none";
    if (std::filesystem::is_symlink(path)) {
      const std::string text = std::filesystem::read_symlink(path).string();
      const std::string real = std::filesystem::canonical(path).string();
      expected = "/" + text == real ? text : real;
    }
    EXPECT_EQ(TargetOf(*facts, path), expected) << path;
  }
}

TEST(Host, ALinkIsKnownByWhatItFinallyLeadsTo) {
  const TempDirectory directory;
  const std::string real = directory.Path("real");
  std::filesystem::create_directories(real + "/sub");
  std::filesystem::create_symlink("real", directory.Path("link"));
  std::filesystem::create_symlink("link", directory.Path("chain"));
  const std::string link = directory.Path("link");
  const std::string chain = directory.Path("chain");
  auto facts = Host().Look(With({real, link, chain, link + "/sub"}, true), {});
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->missing.empty());
  EXPECT_EQ(TargetOf(*facts, real), "none");
  EXPECT_EQ(TargetOf(*facts, link), real);
  EXPECT_EQ(TargetOf(*facts, chain), real);
  EXPECT_EQ(TargetOf(*facts, link + "/sub"), real + "/sub");
}

TEST(Host, ALinkToNowhereIsMissingUntilItLeadsSomewhere) {
  const TempDirectory directory;
  const std::string link = directory.Path("link");
  std::filesystem::create_symlink("nowhere", link);
  WaitUntilSettled();
  Host host;
  EXPECT_EQ(host.Look(With({link}, false), {}).value().missing, std::vector<std::string>{link});
  EXPECT_FALSE(host.Look(With({link}, true), {}));
  std::filesystem::create_directory(directory.Path("nowhere"));
  EXPECT_EQ(TargetOf(host.Look(With({link}, true), {}).value(), link), directory.Path("nowhere"));
}

TEST(Host, PassesOnWhatBwrapCanDo) {
  BwrapFeatures features;
  auto none = Host().Look({}, features);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->bwrap_bind_fd || none->bwrap_disable_userns);
  features.bind_fd = features.disable_userns = true;
  auto both = Host().Look({}, features);
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->bwrap_bind_fd && both->bwrap_disable_userns);
}

TEST(Host, OnlyRootHasSecretsToHide) {
  auto strict = Host().Look(With(DefaultRoBinds(), false), {});
  ASSERT_TRUE(strict);
  EXPECT_EQ(strict->is_root, geteuid() == 0);
  if (geteuid() != 0) {
    EXPECT_TRUE(strict->secret_files.empty() && strict->secret_directories.empty());
    return;
  }
  EXPECT_EQ(Has(strict->secret_files, "/etc/shadow"), std::filesystem::exists("/etc/shadow"));
  EXPECT_EQ(Has(strict->secret_directories, "/etc/ssl/private"),
            std::filesystem::exists("/etc/ssl/private"));
  for (const std::string& file : strict->secret_files) {
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(file))) << file;
  }
  for (const std::string& path : strict->secret_directories) {
    EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::symlink_status(path))) << path;
  }
  BubblewrapPolicy compat = With(DefaultRoBinds(), false);
  compat.isolation = Isolation::kCompat;
  auto facts = Host().Look(compat, {});
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->is_root);
  EXPECT_TRUE(facts->secret_files.empty() && facts->secret_directories.empty());
}

TEST(Host, WhatHasChangedIsSeenByTheNextLook) {
  const TempDirectory directory;
  const std::string place = directory.Path("place");
  std::filesystem::create_directory(directory.Path("real"));
  std::filesystem::create_directory(directory.Path("other"));
  std::filesystem::create_directory(place);
  WaitUntilSettled();
  Host host;
  const BubblewrapPolicy policy = With({place}, false);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(TargetOf(host.Look(policy, {}).value(), place), "none");

  std::filesystem::remove(place);
  EXPECT_EQ(host.Look(policy, {}).value().missing, std::vector<std::string>{place});
  std::filesystem::create_symlink("real", place);
  EXPECT_EQ(TargetOf(host.Look(policy, {}).value(), place), directory.Path("real"));
  WaitUntilSettled();
  EXPECT_EQ(TargetOf(host.Look(policy, {}).value(), place), directory.Path("real"));
  std::filesystem::remove(place);
  std::filesystem::create_symlink("other", place);
  EXPECT_EQ(TargetOf(host.Look(policy, {}).value(), place), directory.Path("other"));
}

TEST(Host, ALinkBehindALinkIsFollowedEachTime) {
  const TempDirectory elsewhere;
  const TempDirectory directory;
  std::filesystem::create_directory(directory.Path("a"));
  std::filesystem::create_directory(directory.Path("b"));
  std::filesystem::create_symlink(directory.Path("a"), elsewhere.Path("middle"));
  std::filesystem::create_symlink(elsewhere.Path("middle"), directory.Path("link"));
  WaitUntilSettled();
  Host host;
  const BubblewrapPolicy policy = With({directory.Path("link")}, true);
  EXPECT_EQ(TargetOf(host.Look(policy, {}).value(), directory.Path("link")), directory.Path("a"));
  std::filesystem::remove(elsewhere.Path("middle"));
  std::filesystem::create_symlink(directory.Path("b"), elsewhere.Path("middle"));
  EXPECT_EQ(TargetOf(host.Look(policy, {}).value(), directory.Path("link")), directory.Path("b"));
}

}  // namespace host_test
}  // namespace native_runner

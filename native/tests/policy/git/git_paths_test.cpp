#include "policy/git/git_paths.h"

#include <gtest/gtest.h>

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

TEST(GitPathsTest, NamesAreThoseBelowGit) {
  EXPECT_EQ(GitNamesOf({".git/hooks", ".envrc", ".git", ".github", ".git/config"}),
            (Texts{"hooks", "", "config"}));
}

TEST(GitPathsTest, OfEachDirectoryTheNamesAndWhatItsConfigurationNames) {
  GitRepository repository;
  repository.directories = {{"/p/.git", false}, {"/p/.git/worktrees/a", true}};
  repository.entries = {"/q/.git"};
  repository.hooks = {"/p/tools"};
  repository.included = {"/p/shared"};
  std::vector<std::string> texts;
  for (const GitPath& path : GitPathsOf(repository, {"hooks", "config", "commondir"})) {
    texts.push_back(path.path + ":" + std::to_string(static_cast<int>(path.kind)));
  }
  EXPECT_EQ(texts,
            (Texts{"/p/.git/hooks:0", "/p/.git/config:1", "/p/.git/commondir:2",
                   "/p/.git/worktrees/a/commondir:2", "/q/.git:3", "/p/tools:0", "/p/shared:1"}));
  // If `config` is not protected, it may lead git elsewhere anyway.
  EXPECT_EQ(GitPathsOf(repository, {"hooks"}).size(), 2U);
  EXPECT_EQ(GitPathsOf(repository, {}).size(), 0U);
}

TEST(GitPathsTest, ProtectedAreAllBelowAndAboveAllButDirectories) {
  ProtectedPaths paths;
  EXPECT_FALSE(paths.Has("/p/Tools", false));
  paths.Add("/p/Tools/hooks");
  paths.Add("/p/a-b");
  for (const bool is_directory : {false, true}) {
    EXPECT_TRUE(paths.Has("/p/tools/HOOKS", is_directory));
    EXPECT_TRUE(paths.Has("/p/tools/hooks/x/y", is_directory));
    EXPECT_FALSE(paths.Has("/p/tools/hooks2", is_directory));
    EXPECT_FALSE(paths.Has("/p/a", is_directory));
    EXPECT_FALSE(paths.Has("/", true));
  }
  EXPECT_TRUE(paths.Has("/p/tools", false));
  EXPECT_FALSE(paths.Has("/p/tools", true));
  paths.Add("/");
  EXPECT_TRUE(paths.Has("/anything", true));
}

}  // namespace
}  // namespace native_runner

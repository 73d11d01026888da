#include "supervise/project/git_repository.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "supervise/os/file.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

class GitRepositoryTest : public testing::Test {
 protected:
  // Makes a directory with the entries by which git recognises a repository.
  void MakeGitDirectory(const std::string& path) {
    for (const char* name : {"/objects", "/refs"})
      std::filesystem::create_directories(At(path + name));
    directory_.Write(path + "/HEAD", "ref: refs/heads/main\n");
  }

  std::string At(const std::string& path) const { return top_ + (path.empty() ? "" : "/" + path); }

  // Paths below the temporary directory, with * behind those that are linked.
  Texts DirectoriesOf(const GitRepository& git) const {
    Texts texts;
    for (const GitDirectory& each : git.directories)
      texts.push_back(each.path.substr(top_.size() + 1) + (each.is_linked ? "*" : ""));
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  GitRepository Find(const std::string& tree) const {
    GitSearch search;
    search.working_trees = {At(tree)};
    auto found = FindGitRepository(search);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : GitRepository{};
  }

  TempDirectory directory_;
  std::string top_ = RealPath(directory_.path());
};

TEST_F(GitRepositoryTest, WhereThereIsNoneNoneMayComeToBe) {
  std::filesystem::create_directory(At("p"));
  const GitRepository git = Find("p");
  EXPECT_TRUE(git.directories.empty());
  EXPECT_EQ(git.entries, (Texts{At("p/.git"), At("p/HEAD")}));
}

TEST_F(GitRepositoryTest, IsFoundFromAWorktreeWithItsSiblingsAndSubmodules) {
  MakeGitDirectory("p/.git");
  MakeGitDirectory("p/.git/modules/a/b");
  std::filesystem::create_directories(At("p/a"));
  directory_.Write("p/.git/modules/a/b/config", "[core]\nworktree = ../../../../a\n");
  directory_.Write("p/a/.git", "gitdir: ../.git/modules/a/b\n");
  for (const char* name : {"one", "two"}) {
    const std::string worktree = std::string("p/.git/worktrees/") + name;
    MakeGitDirectory(worktree);
    directory_.Write(worktree + "/commondir", "../..\n");
    std::filesystem::create_directory(At(name));
    directory_.Write(worktree + "/gitdir", At(name) + "/.git\n");
    directory_.Write(std::string(name) + "/.git", "gitdir: " + At(worktree) + "\n");
  }
  const GitRepository git = Find("one");
  EXPECT_EQ(DirectoriesOf(git), (Texts{"p/.git", "p/.git/modules/a/b", "p/.git/worktrees/one*",
                                       "p/.git/worktrees/two*"}));
  Texts entries = git.entries;
  std::sort(entries.begin(), entries.end());
  EXPECT_EQ(entries, (Texts{At("one/.git"), At("p/a/.git"), At("two/.git")}));
}

TEST_F(GitRepositoryTest, SaysWhatItsConfigurationNames) {
  MakeGitDirectory("p/.git");
  directory_.Write("p/.git/config",
                   "[core]\nhooksPath = tools\n[include]\npath = ../a\npath = ~/b\n");
  directory_.Write("p/a", "[include]\npath = sub/c\n[core]\nhooksPath = /abs\n");
  const GitRepository git = Find("p");
  EXPECT_EQ(git.included, (Texts{At("p/a"), At("p/sub/c")}));
  EXPECT_EQ(git.hooks, (Texts{"/abs", At("p/tools")}));
}

TEST_F(GitRepositoryTest, NamesTheTargetsOfLinkedHooksAndConfiguration) {
  MakeGitDirectory("p/.git");
  std::filesystem::create_directories(At("p/.git/hooks"));
  std::filesystem::create_symlink("../../check.sh", At("p/.git/hooks/pre-commit"));
  directory_.Write("p/.git/hooks/update", "");
  directory_.Write("p/settings", "[core]\nhooksPath = tools\n");
  std::filesystem::create_symlink("../settings", At("p/.git/config"));
  const GitRepository git = Find("p");
  EXPECT_EQ(git.hooks, (Texts{At("p/check.sh"), At("p/tools")}));
  EXPECT_EQ(git.included, (Texts{At("p/settings")}));
}

TEST_F(GitRepositoryTest, IsOneByItsCommonDirectory) {
  std::filesystem::create_directories(At("p"));
  directory_.Write("p/HEAD", "ref: refs/heads/main\n");
  EXPECT_TRUE(Find("p").directories.empty());
  directory_.Write("p/commondir", "../common\n");
  EXPECT_EQ(DirectoriesOf(Find("p")), (Texts{"common", "p*"}));
}

TEST_F(GitRepositoryTest, IsFoundByALinkInThePlaceOfItsDirectory) {
  MakeGitDirectory("real");
  std::filesystem::create_directory(At("p"));
  std::filesystem::create_symlink("../real", At("p/.git"));
  EXPECT_EQ(DirectoriesOf(Find("p")), (Texts{"real"}));
  EXPECT_EQ(Find("p").entries, (Texts{At("p/.git")}));
}

TEST_F(GitRepositoryTest, IsFoundAboveAndInHomesWhereAskedFor) {
  MakeGitDirectory("p/.git");
  directory_.Write("p/.git/config", "[core]\nhooksPath = in/hooks\n");
  std::filesystem::create_directories(At("p/in"));
  std::filesystem::create_directories(At("home"));
  directory_.Write("home/.gitconfig", "[include]\npath = ~/more\n");
  GitSearch search;
  search.working_trees = {At("p/in")};
  EXPECT_TRUE(FindGitRepository(search).value().hooks.empty());
  search.looks_above = true;
  search.homes = {At("home")};
  const auto found = FindGitRepository(search);
  ASSERT_TRUE(found);
  // Relative to each of the working trees.
  EXPECT_EQ(found.value().hooks, (Texts{At("p/in/hooks"), At("p/in/in/hooks")}));
  for (const char* path : {"home/.gitconfig", "home/more"}) {
    const Texts& included = found.value().included;
    EXPECT_NE(std::find(included.begin(), included.end(), At(path)), included.end()) << path;
  }
}

TEST_F(GitRepositoryTest, ReadsWhatAFileIsGoingToHold) {
  MakeGitDirectory("p/.git");
  directory_.Write("p/.git/config", "[core]\nhooksPath = old\n");
  GitSearch search;
  search.working_trees = {At("p")};
  search.read_changed = [this](const std::string& path, std::string* text) {
    if (path != At("p/.git/config")) return false;
    *text = "[core]\nhooksPath = new\n";
    return true;
  };
  EXPECT_EQ(FindGitRepository(search).value().hooks, (Texts{At("p/new")}));
}

TEST_F(GitRepositoryTest, NamesALinkOnItsWay) {
  MakeGitDirectory("real");
  std::filesystem::create_directory_symlink("real", At("link"));
  std::filesystem::create_directory(At("p"));
  directory_.Write("p/.git", "gitdir: ../link\n");
  const GitRepository git = Find("p");
  EXPECT_EQ(DirectoriesOf(git), (Texts{"real"}));
  EXPECT_EQ(git.entries, (Texts{At("p/.git"), At("link")}));
}

TEST_F(GitRepositoryTest, IsNotKeptByWhatIsNoFileNorByCircles) {
  std::filesystem::create_directory(At("p"));
  ASSERT_EQ(mkfifo(At("p/.git").c_str(), 0600), 0);
  EXPECT_TRUE(Find("p").directories.empty());
  MakeGitDirectory("q/.git");
  directory_.Write("q/.git/commondir", "../.git/objects\n");
  directory_.Write("q/.git/objects/commondir", "..\n");
  directory_.Write("q/.git/config", "[include]\npath = config\n");
  EXPECT_EQ(DirectoriesOf(Find("q")), (Texts{"q/.git*", "q/.git/objects*"}));
}

TEST_F(GitRepositoryTest, WithTooManyDirectoriesIsRefused) {
  for (int i = 0; i < 300; ++i)
    std::filesystem::create_directories(At("p/.git/worktrees/" + std::to_string(i)));
  GitSearch search;
  search.working_trees = {At("p")};
  const auto found = FindGitRepository(search);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kSetup);
  EXPECT_NE(found.error().message.find("p/.git can't be protected"), std::string::npos);
}

}  // namespace
}  // namespace native_runner

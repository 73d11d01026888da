#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "policy/bubblewrap/project.h"
#include "supervise/project/git_repository.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

const std::vector<std::string> kNames = {"hooks", "config", "config.worktree", "commondir"};
const std::string kMade = std::string(".git/") + kNewRepository;
const std::string kLeft = ".git/native-runner-left-out";

class NewRepositoryTest : public testing::Test {
 protected:
  std::unique_ptr<NewRepository> Make(const std::vector<std::string>& hidden = {}) {
    auto made = MakeNewRepository(tree_.get(), kNames, hidden);
    if (!made) {
      ADD_FAILURE() << made.error().message;
      return nullptr;
    }
    return *made ? std::make_unique<NewRepository>(std::move(**made)) : nullptr;
  }

  // Writes a file where commands see `.git`.
  void Put(const std::string& path, const std::string& text = "x") const {
    const std::string file = kMade + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(directory_.Path(file)).parent_path());
    directory_.Write(file, text);
  }

  // As `git init` makes it.
  void PutRepository() const {
    Put("HEAD", "ref: refs/heads/main\n");
    Put("config", "[core]\n\tbare = false\n");
    Put("objects/info/x");
    Put("refs/heads/main");
    Put("hooks/pre-commit.sample");
  }

  bool IsNew() const { return IsNewRepository(directory_.Path(".git")); }
  mode_t ModeOf(const std::string& path) const {
    struct stat status {};
    return stat(directory_.Path(path).c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }

  TempDirectory directory_;
  Descriptor tree_{open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(NewRepositoryTest, LeavesNothingWhereNoneWasMade) {
  for (const auto& hidden : std::vector<std::vector<std::string>>{{}, {".npmrc"}}) {
    auto held = Make(hidden);
    ASSERT_NE(held, nullptr);
    EXPECT_TRUE(IsNew());
    held.reset();
    EXPECT_FALSE(directory_.Has(".git"));
  }
}

TEST_F(NewRepositoryTest, IsTakenWhenTheLastHolderIsGone) {
  auto first = Make();
  auto second = Make();
  ASSERT_NE(second, nullptr);
  PutRepository();
  first.reset();
  EXPECT_TRUE(IsNew());
  EXPECT_FALSE(directory_.Has(".git/HEAD"));
  second.reset();
  EXPECT_EQ(directory_.Read(".git/HEAD"), "ref: refs/heads/main\n");
  EXPECT_EQ(directory_.Read(".git/config"), "[core]\n\tbare = false\n");
  for (const char* name : {"objects/info/x", "refs/heads/main", "hooks/pre-commit.sample"})
    EXPECT_TRUE(directory_.Has(std::string(".git/") + name)) << name;
  EXPECT_FALSE(directory_.Has(kMade));
  EXPECT_FALSE(directory_.Has(kLeft));
  EXPECT_EQ(ModeOf(".git"), 0755U);
  EXPECT_FALSE(IsNew());
}

TEST_F(NewRepositoryTest, WhatGitObeysIsKeptWhereItDoesNotLook) {
  auto held = Make();
  ASSERT_NE(held, nullptr);
  PutRepository();
  Put("config", "[core]\n\tbare = false\n\tfsmonitor = evil\n");
  const std::vector<std::string> obeyed = {"hooks/pre-commit",
                                           "config.worktree",
                                           "commondir",
                                           "modules/a/config",
                                           "worktrees/w/config.worktree",
                                           "Hooks/x"};
  for (const std::string& name : obeyed)
    Put(name);
  held.reset();
  for (const std::string& name : obeyed) {
    EXPECT_FALSE(directory_.Has(".git/" + name)) << name;
    EXPECT_TRUE(directory_.Has(kLeft + "/" + name)) << name;
  }
  EXPECT_EQ(directory_.Read(".git/config"), "[core]\n\tbare = false\n");
  EXPECT_NE(directory_.Read(kLeft + "/config").find("evil"), std::string::npos);
  EXPECT_TRUE(directory_.Has(".git/HEAD"));
}

TEST_F(NewRepositoryTest, NoLinkIsFollowed) {
  const std::string outside = directory_.Path("outside");
  std::filesystem::create_directory(outside);
  directory_.Write("outside/config", "[core]\n\tbare = true\n");
  directory_.Write("outside/x.sample", "x");
  auto held = Make();
  ASSERT_NE(held, nullptr);
  Put("HEAD");
  std::filesystem::create_symlink(outside + "/config", directory_.Path(kMade + "/config"));
  std::filesystem::create_symlink(outside, directory_.Path(kMade + "/hooks"));
  ASSERT_EQ(chmod(outside.c_str(), 0500), 0);
  held.reset();
  EXPECT_EQ(ModeOf("outside"), 0500U);
  EXPECT_EQ(directory_.Read(".git/config"), "");
  EXPECT_FALSE(directory_.Has(".git/hooks"));
  EXPECT_TRUE(directory_.Has(kLeft + "/hooks"));
  EXPECT_TRUE(directory_.Has("outside/x.sample"));
  ASSERT_EQ(chmod(outside.c_str(), 0700), 0);
}

TEST_F(NewRepositoryTest, ReplacesNothingThatTheHostHasMadeMeanwhile) {
  auto held = Make();
  ASSERT_NE(held, nullptr);
  PutRepository();
  for (const char* name : {"HEAD", "config", "index"})
    directory_.Write(std::string(".git/") + name, "of the host");
  Put("index");
  held.reset();
  for (const char* name : {"HEAD", "config", "index"})
    EXPECT_EQ(directory_.Read(std::string(".git/") + name), "of the host") << name;
  EXPECT_EQ(directory_.Read(kLeft + "/HEAD"), "ref: refs/heads/main\n");
  EXPECT_EQ(directory_.Read(kLeft + "/index"), "x");
  EXPECT_TRUE(directory_.Has(".git/refs/heads/main"));
}

TEST_F(NewRepositoryTest, IsTakenWhateverModesItHas) {
  auto held = Make();
  ASSERT_NE(held, nullptr);
  PutRepository();
  for (const char* name : {"/objects", "/hooks", ""})
    ASSERT_EQ(chmod(directory_.Path(kMade + name).c_str(), 0500), 0);
  held.reset();
  EXPECT_TRUE(directory_.Has(".git/HEAD"));
  EXPECT_EQ(ModeOf(".git/objects"), 0500U);
  ASSERT_EQ(chmod(directory_.Path(".git/objects").c_str(), 0700), 0);
}

TEST_F(NewRepositoryTest, TheNextRunEndsWhatAKilledOneLeft) {
  // As after each entry that is moved, in their order.
  const std::vector<std::string> order = {"", "config", "hooks", "objects", "refs", "HEAD"};
  for (const std::string& last : order) {
    auto held = Make();
    ASSERT_NE(held, nullptr);
    PutRepository();
    for (std::size_t i = 1; order[i - 1] != last; ++i) {
      std::filesystem::rename(directory_.Path(kMade + "/" + order[i]),
                              directory_.Path(".git/" + order[i]));
    }
    directory_.Write(".git/native-runner-config", "half");
    FinishNewRepository(tree_.get(), kNames);
    EXPECT_TRUE(directory_.Has(kMade)) << last;  // a run needs it
    // What the kernel does at a death: the lock goes, nothing else.
    const std::string saved = directory_.Path("saved");
    std::filesystem::rename(directory_.Path(".git"), saved);
    held.reset();
    std::filesystem::rename(saved, directory_.Path(".git"));
    FinishNewRepository(tree_.get(), kNames);
    EXPECT_EQ(directory_.Read(".git/HEAD"), "ref: refs/heads/main\n") << last;
    EXPECT_EQ(directory_.Read(".git/config"), "[core]\n\tbare = false\n") << last;
    EXPECT_TRUE(directory_.Has(".git/refs/heads/main")) << last;
    EXPECT_FALSE(directory_.Has(kMade)) << last;
    EXPECT_EQ(ModeOf(".git"), 0755U) << last;
    std::filesystem::remove_all(directory_.Path(".git"));
  }
}

TEST_F(NewRepositoryTest, OneWithVeryManyEntriesIsLeftOutAsAWhole) {
  auto held = Make();
  ASSERT_NE(held, nullptr);
  PutRepository();
  for (int i = 0; i < 300; ++i)
    Put("file" + std::to_string(i));
  held.reset();
  EXPECT_FALSE(directory_.Has(".git/HEAD"));
  EXPECT_TRUE(directory_.Has(kLeft + "/" + kNewRepository + "/HEAD"));
  EXPECT_FALSE(directory_.Has(kMade));
}

TEST_F(NewRepositoryTest, ARepositoryIsNone) {
  std::filesystem::create_directories(directory_.Path(kMade));
  directory_.Write(".git/HEAD", "x");
  ASSERT_EQ(chmod(directory_.Path(".git").c_str(), 01755), 0);
  EXPECT_FALSE(IsNew());
  ASSERT_EQ(unlink(directory_.Path(".git/HEAD").c_str()), 0);
  EXPECT_TRUE(IsNew());
  ASSERT_EQ(chmod(directory_.Path(".git").c_str(), 0755), 0);
  EXPECT_FALSE(IsNew());
  FinishNewRepository(tree_.get(), kNames);
  EXPECT_TRUE(directory_.Has(kMade));
  EXPECT_EQ(Make(), nullptr);
}

}  // namespace
}  // namespace native_runner

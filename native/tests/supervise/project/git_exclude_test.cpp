#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "supervise/project/git_repository.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class GitExcludeTest : public testing::Test {
 protected:
  std::optional<GitExclude> Add(const std::vector<std::string>& names = {".npmrc"}) {
    return GitExclude::Add(info_.get(), names);
  }
  std::string Text() const { return directory_.Read("exclude"); }

  TempDirectory directory_;
  Descriptor info_{open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(GitExcludeTest, NamesFilesWhileItIsHeldAndLeavesEachTextAsItWas) {
  for (const std::string before : {"", "*.log\n", "*.log", "\n", "# native-runner\n"}) {
    directory_.Write("exclude", before);
    auto held = Add({".npmrc", "a b/*.[x]"});
    ASSERT_TRUE(held);
    EXPECT_TRUE(Text().starts_with(before)) << before;
    EXPECT_NE(Text().find("\n/.npmrc\n/a\\ b/\\*.\\[x]\n"), std::string::npos) << Text();
    held.reset();
    EXPECT_EQ(Text(), before);
  }
  EXPECT_FALSE(directory_.Has("exclude.native-runner"));
}

TEST_F(GitExcludeTest, StaysUntilTheLastHolderIsGone) {
  directory_.Write("exclude", "*.log\n");
  auto first = Add();
  auto second = Add({".yarnrc.yml"});
  ASSERT_TRUE(second);
  first.reset();
  EXPECT_NE(Text().find("/.yarnrc.yml\n"), std::string::npos) << Text();
  second.reset();
  EXPECT_EQ(Text(), "*.log\n");
}

TEST_F(GitExcludeTest, TakesOutWhatAProcessThatDiedLeftBehind) {
  directory_.Write("exclude", "*.log\n");
  auto died = Add({".mcp.json"});
  ASSERT_TRUE(died);
  const std::string left = Text();
  died.reset();
  directory_.Write("exclude", left);
  directory_.Write("exclude.native-runner", "half a replace");
  Add().reset();
  EXPECT_EQ(Text(), "*.log\n");
}

TEST_F(GitExcludeTest, KeepsLinesThatWereAddedMeanwhile) {
  directory_.Write("exclude", "*.log\n");
  auto held = Add();
  ASSERT_TRUE(held);
  directory_.Write("exclude", Text() + "mine\n", 0640);
  held.reset();
  EXPECT_EQ(Text(), "*.log\nmine\n");
  EXPECT_FALSE(directory_.Has("exclude.native-runner"));
  struct stat status {};
  ASSERT_EQ(stat(directory_.Path("exclude").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST_F(GitExcludeTest, KeepsABlockWhoseEndWasRemoved) {
  directory_.Write("exclude", "*.log\n");
  auto held = Add();
  ASSERT_TRUE(held);
  const std::string text = Text().substr(0, Text().rfind('#')) + "mine\n";
  directory_.Write("exclude", text);
  held.reset();
  EXPECT_EQ(Text(), text);
}

TEST_F(GitExcludeTest, KeepsAFileThatAnEditorPutInItsPlace) {
  for (const bool has_block : {false, true}) {
    directory_.Write("exclude", "*.log\n");
    auto held = Add();
    ASSERT_TRUE(held);
    directory_.Write("new", (has_block ? Text() : "") + "mine\n");
    directory_.Write("exclude", Text() + "lost by the editor\n");
    std::filesystem::rename(directory_.Path("new"), directory_.Path("exclude"));
    held.reset();
    EXPECT_EQ(Text(), has_block ? "*.log\nmine\n" : "mine\n");
  }
}

TEST_F(GitExcludeTest, ChangesNothingWhereThereIsNoFile) {
  EXPECT_FALSE(Add());
  EXPECT_FALSE(directory_.Has("exclude"));
  directory_.Write("target", "mine\n");
  std::filesystem::create_symlink("target", directory_.Path("exclude"));
  EXPECT_FALSE(Add());
  EXPECT_EQ(directory_.Read("target"), "mine\n");
}

TEST_F(GitExcludeTest, ChangesNothingInAFileThatIsTooLong) {
  const std::string text(std::size_t{2} << 20U, 'x');
  directory_.Write("exclude", text);
  EXPECT_FALSE(Add());
  EXPECT_EQ(Text(), text);
}

}  // namespace
}  // namespace native_runner

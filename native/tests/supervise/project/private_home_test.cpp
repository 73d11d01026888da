// A run's own home on the host: made, removed, and cleaned up after a host that died.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "supervise/project/homes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class PrivateHomeTest : public testing::Test {
 protected:
  static bool IsThere(const std::string& path) {
    return std::filesystem::exists(std::filesystem::symlink_status(path));
  }

  TempDirectory directory_;
};

TEST_F(PrivateHomeTest, IsTheOwnersAloneAndGoesWithTheObject) {
  auto made = PrivateHome::Make(directory_.path(), "[user]\n", nullptr, true);
  ASSERT_TRUE(made) << made.error().message;
  const std::string path = made.value()->path();
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  std::ifstream file(path + "/.gitconfig");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "[user]\n");
  std::filesystem::create_directories(path + "/a/b/c");
  std::filesystem::create_symlink("/", path + "/link");
  std::filesystem::permissions(path + "/a/b", std::filesystem::perms::none);
  made.value().reset();
  EXPECT_FALSE(IsThere(path));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(PrivateHomeTest, OnlyThoseThatNobodyUsesAreLeft) {
  auto used = PrivateHome::Make(directory_.path(), "", nullptr, true);
  ASSERT_TRUE(used);
  const std::string left = directory_.Path("0123456789abcdef");
  std::string deep = left + "/home";
  for (int level = 0; level < 300; ++level)
    deep += "/d";
  std::filesystem::create_directories(deep);
  RemoveLeftHomes(directory_.path());
  EXPECT_FALSE(IsThere(left));
  EXPECT_TRUE(IsThere(used.value()->path()));
}

TEST_F(PrivateHomeTest, ALinkInItIsRemovedAndNotFollowed) {
  const std::string outside = directory_.Path("outside");
  const std::string homes = directory_.Path("homes");
  std::filesystem::create_directory(outside);
  ASSERT_EQ(mkdir(homes.c_str(), 0700), 0);
  std::ofstream(outside + "/file") << "mine";
  ASSERT_EQ(chmod(outside.c_str(), 0500), 0);
  const std::string left = homes + "/0123456789abcdef";
  std::filesystem::create_directories(left);
  std::filesystem::create_symlink(outside, left + "/home");  // in the home's own place
  RemoveLeftHomes(homes);
  struct stat status {};
  ASSERT_EQ(stat(outside.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0500U);
  EXPECT_TRUE(IsThere(outside + "/file"));
  ASSERT_EQ(chmod(outside.c_str(), 0700), 0);
}

TEST_F(PrivateHomeTest, IsNotMadeWhereOthersCanWrite) {
  ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0);
  const auto made = PrivateHome::Make(directory_.path(), "", nullptr, true);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kSetup);
  EXPECT_NE(made.error().message.find(directory_.path()), std::string::npos);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0700), 0);
  EXPECT_TRUE(PrivateHome::Make(directory_.path(), "", nullptr, true));
}

}  // namespace
}  // namespace native_runner

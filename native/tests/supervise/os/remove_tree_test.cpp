#include "supervise/os/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "supervise/os/descriptor.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

class RemoveTreeTest : public testing::Test {
 protected:
  void Make(const std::string& name, const std::string& text = "text") {
    fs::create_directories(fs::path(directory_.Path(name.c_str())).parent_path());
    std::ofstream(directory_.Path(name.c_str())) << text;
  }
  std::optional<Error> Remove(const char* name) { return RemoveTree(parent_.get(), name); }

  TempDirectory directory_;
  Descriptor parent_{open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(RemoveTreeTest, RemovesWhatIsBelowAndNothingElse) {
  Make("tree/a/b/c");
  Make("tree/a/d");
  fs::create_directories(directory_.Path("tree/empty/e"));
  Make("other");
  EXPECT_EQ(Remove("tree"), std::nullopt);
  EXPECT_FALSE(directory_.Has("tree"));
  EXPECT_TRUE(directory_.Has("other"));
}

TEST_F(RemoveTreeTest, FollowsNoLink) {
  Make("kept/file");
  fs::create_directory(directory_.Path("tree"));
  fs::create_directory_symlink(directory_.Path("kept"), directory_.Path("tree/link"));
  fs::create_directory_symlink(directory_.Path("kept"), directory_.Path("link"));
  EXPECT_EQ(Remove("tree"), std::nullopt);
  EXPECT_EQ(Remove("link"), std::nullopt);
  EXPECT_FALSE(directory_.Has("tree"));
  EXPECT_FALSE(directory_.Has("link"));
  EXPECT_TRUE(directory_.Has("kept/file"));
}

TEST_F(RemoveTreeTest, OpensWhatIsShut) {
  for (const mode_t mode : {0, 0100, 0200, 0300, 0400, 0500, 0600}) {
    const std::string name = "tree/" + std::to_string(mode);
    Make(name + "/in/file");
    ASSERT_EQ(chmod(directory_.Path(name + "/in").c_str(), mode), 0);
    ASSERT_EQ(chmod(directory_.Path(name).c_str(), mode), 0);
  }
  EXPECT_EQ(Remove("tree"), std::nullopt);
  EXPECT_FALSE(directory_.Has("tree"));
}

TEST_F(RemoveTreeTest, TakesAFileAndNothing) {
  Make("file");
  EXPECT_EQ(Remove("file"), std::nullopt);
  EXPECT_FALSE(directory_.Has("file"));
  EXPECT_EQ(Remove("file"), std::nullopt);
}

// Deeper than a path may be long, and than descriptors may be open.
TEST_F(RemoveTreeTest, GoesAsDeepAsItIs) {
  constexpr int kDepth = 3000;
  Descriptor at(open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < kDepth; ++depth) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    at = Descriptor(openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
  }
  at.Close();
  const int open_before = CountDescriptors();
  EXPECT_EQ(Remove("d"), std::nullopt);
  EXPECT_FALSE(directory_.Has("d"));
  EXPECT_EQ(CountDescriptors(), open_before);
}

}  // namespace
}  // namespace native_runner

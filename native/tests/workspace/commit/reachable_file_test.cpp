#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/supervise/support/temp_directory.h"
#include "workspace/commit/staging.h"

namespace native_runner {
namespace {

class ReachableFileTest : public testing::Test {
 protected:
  ReachableFileTest() { directory_.Write("file", "text"); }

  bool IsFound(const char* name = "file") const {
    const ScannedDirectory directory(
        Descriptor(open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    const auto node = directory.Look(name);
    EXPECT_TRUE(node && node.value());
    const auto movable = MakeMovable(directory, name, *node.value());
    EXPECT_TRUE(movable);
    return movable && !movable.value();
  }

  TempDirectory directory_;
  std::string path_ = directory_.path() + "/file";
};

TEST_F(ReachableFileTest, IsNoneByItself) {
  EXPECT_FALSE(IsFound());
  EXPECT_FALSE(IsFound()) << "no lease is left";
}

TEST_F(ReachableFileTest, IsOneOfTwoNames) {
  std::filesystem::create_hard_link(path_, path_ + "2");
  EXPECT_TRUE(IsFound());
  std::filesystem::remove(path_ + "2");
  EXPECT_FALSE(IsFound());
}

TEST_F(ReachableFileTest, IsALinkOfTwoNamesButNoOther) {
  std::filesystem::create_symlink("file", directory_.path() + "/link");
  EXPECT_FALSE(IsFound("link"));
  ASSERT_EQ(linkat(AT_FDCWD, (directory_.path() + "/link").c_str(), AT_FDCWD,
                   (directory_.path() + "/link2").c_str(), 0),
            0);
  EXPECT_TRUE(IsFound("link"));
}

TEST_F(ReachableFileTest, IsOneThatIsOpen) {
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
    const Descriptor file(open(path_.c_str(), flags | O_CLOEXEC));
    ASSERT_TRUE(file.valid());
    EXPECT_TRUE(IsFound()) << flags;
  }
  EXPECT_FALSE(IsFound());
}

TEST_F(ReachableFileTest, IsOneThatIsMapped) {
  Descriptor file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  void* mapped = mmap(nullptr, 4, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  file.Close();
  EXPECT_TRUE(IsFound());
  munmap(mapped, 4);
  EXPECT_FALSE(IsFound());
}

TEST_F(ReachableFileTest, IsOneThatCantBeOpened) {
  if (geteuid() == 0) GTEST_SKIP() << "root opens it";
  std::filesystem::permissions(path_, std::filesystem::perms::none);
  EXPECT_TRUE(IsFound());
}

// Moving removes overlayfs' attributes, and nothing else of the file.
TEST(MovableFileTest, HasNoNotesOfOverlayfsAndTheModeThatItHad) {
  const TempDirectory place;
  const std::string path = place.path() + "/file";
  for (const mode_t mode : {0644, 0444}) {
    place.Write("file", "text");
    if (setxattr(path.c_str(), "user.overlay.origin", "x", 1, 0) != 0) {
      GTEST_SKIP() << "no attributes on this file system";
    }
    ASSERT_EQ(setxattr(path.c_str(), "user.mine", "x", 1, 0), 0);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const ScannedDirectory directory(
        Descriptor(open(place.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    const auto node = directory.Look("file");
    ASSERT_TRUE(node && node.value());
    const auto movable = MakeMovable(directory, "file", *node.value());
    ASSERT_TRUE(movable && movable.value());
    const auto now = directory.Look("file");
    ASSERT_TRUE(now && now.value());
    EXPECT_EQ(movable.value()->changed_ns, now.value()->changed_ns);
    EXPECT_EQ(now.value()->mode & 07777U, mode);
    char value = 0;
    EXPECT_EQ(getxattr(path.c_str(), "user.overlay.origin", &value, 1), -1);
    EXPECT_EQ(getxattr(path.c_str(), "user.mine", &value, 1), 1) << "the control";
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace native_runner

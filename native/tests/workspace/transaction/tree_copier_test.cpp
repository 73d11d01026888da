// A copy of a tree has all that a file system keeps of files.
#include "workspace/copy/tree_copier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/workspace/support/listing.h"
#include "tests/workspace/support/overlay.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

class TreeCopierTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"from", "to", "second"})
      fs::create_directories(place_.Path(name));
  }

  std::string At(const std::string& name) const { return place_.Path("from/" + name); }

  std::optional<Error> Copy(TreeCopier* copier, const char* from, const char* to) const {
    const Descriptor target = Overlay::Open(place_.Path(to));
    return copier->Copy(ScannedTree(Overlay::Open(place_.Path(from)), true), target.get());
  }
  void ExpectSame() const {
    TreeCopier copier;
    const auto failed = Copy(&copier, "from", "to");
    ASSERT_FALSE(failed) << failed->message;
    const auto expected = ListingOf(place_.Path("from"));
    EXPECT_EQ(ListingOf(place_.Path("to")), expected);
    EXPECT_FALSE(expected.empty());
  }

  TempDirectory place_;
};

TEST_F(TreeCopierTest, HasModesTimesAndContents) {
  place_.Write("from/plain", "text");
  place_.Write("from/empty", "", 0444);
  place_.Write("from/set", "x", 06755);
  fs::create_directories(At("dir/deep"));
  place_.Write("from/dir/deep/file", std::string(300'000, 'x'));
  fs::create_symlink("nowhere at all", At("link"));
  ASSERT_EQ(chmod(At("dir/deep").c_str(), 01511), 0);
  ASSERT_EQ(chmod(place_.Path("from").c_str(), 0750), 0);
  constexpr timespec kPast = {-5, 123'456'789};
  const timespec times[2] = {kPast, kPast};
  for (const char* name : {"plain", "link", "dir", "dir/deep"})
    ASSERT_EQ(utimensat(AT_FDCWD, At(name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0) << name;
  ExpectSame();
}

TEST_F(TreeCopierTest, HasAttributes) {
  place_.Write("from/file", "x");
  fs::create_directories(At("dir"));
  if (setxattr(At("file").c_str(), "user.mine", "a", 1, 0) != 0) GTEST_SKIP() << "none here";
  ASSERT_EQ(setxattr(At("file").c_str(), "user.overlay.origin", "\0\1", 2, 0), 0);
  ASSERT_EQ(setxattr(At("dir").c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  ASSERT_EQ(setxattr(place_.Path("from").c_str(), "user.overlay.impure", "y", 1, 0), 0);
  ASSERT_EQ(chmod(At("file").c_str(), 0400), 0);
  ExpectSame();
}

TEST_F(TreeCopierTest, HasHoles) {
  const int file = open(At("holes").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(pwrite(file, "x", 1, 1 << 20), 1);
  ASSERT_EQ(pwrite(file, "y", 1, 5 << 20), 1);
  ASSERT_EQ(ftruncate(file, 9 << 20), 0);
  close(file);
  const int empty = open(At("only-hole").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(ftruncate(empty, 3 << 20), 0);
  close(empty);
  TreeCopier copier;
  ASSERT_FALSE(Copy(&copier, "from", "to"));
  for (const char* name : {"holes", "only-hole"}) {
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(stat(At(name).c_str(), &before), 0);
    ASSERT_EQ(stat(place_.Path(std::string("to/") + name).c_str(), &after), 0);
    EXPECT_EQ(after.st_size, before.st_size);
    EXPECT_EQ(DataBytes(place_.Path(std::string("to/") + name)), DataBytes(At(name))) << name;
    EXPECT_LE(DataBytes(At(name)), 1 << 20) << name;
    EXPECT_EQ(place_.Read(std::string("to/") + name), place_.Read(std::string("from/") + name));
  }
}

TEST_F(TreeCopierTest, HasWhiteoutsFifosAndSockets) {
  ASSERT_EQ(mknod(At("gone").c_str(), S_IFCHR, 0), 0);
  ASSERT_EQ(link(At("gone").c_str(), At("gone too").c_str()), 0);
  ASSERT_EQ(mkfifo(At("fifo").c_str(), 0620), 0);
  ASSERT_EQ(mknod(At("socket").c_str(), S_IFSOCK | 0600, 0), 0);
  ExpectSame();
}

TEST_F(TreeCopierTest, NamesOfOneFileAreNamesOfOne) {
  place_.Write("from/one", "x");
  fs::create_directories(At("dir"));
  fs::create_hard_link(At("one"), At("dir/two"));
  fs::create_hard_link(At("one"), place_.Path("second/three"));
  TreeCopier copier;
  fs::create_directories(place_.Path("copy"));
  ASSERT_FALSE(Copy(&copier, "from", "to"));
  ASSERT_FALSE(Copy(&copier, "second", "copy"));
  EXPECT_EQ(fs::hard_link_count(place_.Path("to/one")), 3U);
  EXPECT_TRUE(fs::equivalent(place_.Path("to/one"), place_.Path("to/dir/two")));
  EXPECT_TRUE(fs::equivalent(place_.Path("to/one"), place_.Path("copy/three")));
}

TEST_F(TreeCopierTest, HasWhatItsModesShut) {
  fs::create_directories(At("shut/inner"));
  place_.Write("from/shut/inner/file", "hidden", 0);
  ASSERT_EQ(chmod(At("shut/inner").c_str(), 0), 0);
  ASSERT_EQ(chmod(At("shut").c_str(), 0311), 0);
  ExpectSame();
}

TEST_F(TreeCopierTest, AFileThatIsThereAlreadyIsAnError) {
  place_.Write("from/file", "x");
  place_.Write("to/file", "mine");
  TreeCopier copier;
  const auto failed = Copy(&copier, "from", "to");
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->message.find("file"), std::string::npos);
  EXPECT_EQ(place_.Read("to/file"), "mine");
}

}  // namespace
}  // namespace native_runner

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "supervise/project/mount_points.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class PlaceholderTest : public testing::Test {
 protected:
  std::unique_ptr<Placeholder> Take(const char* name = "x", Placeholder::Form form = {}) {
    auto taken = Placeholder::Take(parent_.get(), name, form);
    if (!taken) {
      ADD_FAILURE() << taken.error().message;
      return nullptr;
    }
    return *taken ? std::make_unique<Placeholder>(std::move(**taken)) : nullptr;
  }

  TempDirectory directory_;
  Descriptor parent_{open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(PlaceholderTest, StandsWhileItIsHeld) {
  auto held = Take();
  ASSERT_NE(held, nullptr);
  EXPECT_TRUE(std::filesystem::is_directory(directory_.Path("x")));
  EXPECT_TRUE(Placeholder::IsOne(parent_.get(), "x", {}));
  held.reset();
  EXPECT_FALSE(directory_.Has("x"));
}

TEST_F(PlaceholderTest, StandsUntilTheLastHolderIsGone) {
  auto first = Take();
  auto second = Take();
  ASSERT_NE(second, nullptr);
  first.reset();
  EXPECT_TRUE(directory_.Has("x"));
  second.reset();
  EXPECT_FALSE(directory_.Has("x"));
}

TEST_F(PlaceholderTest, IsTakenOverFromAProcessThatDied) {
  ASSERT_EQ(mkdir(directory_.Path("x").c_str(), 0755), 0);
  ASSERT_EQ(chmod(directory_.Path("x").c_str(), 01755), 0);
  auto held = Take();
  ASSERT_NE(held, nullptr);
  held.reset();
  EXPECT_FALSE(directory_.Has("x"));
}

TEST_F(PlaceholderTest, NeitherTakesNorRemovesWhatIsSomebodyElses) {
  ASSERT_EQ(mkdir(directory_.Path("empty").c_str(), 0755), 0);
  std::filesystem::create_directory(directory_.Path("full"));
  directory_.Write("full/file", "text");
  ASSERT_EQ(chmod(directory_.Path("full").c_str(), 01755), 0);
  directory_.Write("file", "text");
  std::filesystem::create_symlink("empty", directory_.Path("link"));
  for (const char* name : {"empty", "full", "file", "link"}) {
    EXPECT_FALSE(Placeholder::IsOne(parent_.get(), name, {})) << name;
    EXPECT_EQ(Take(name), nullptr) << name;
    EXPECT_TRUE(directory_.Has(name)) << name;
  }
}

TEST_F(PlaceholderTest, StaysWhenSomethingWasPutIntoIt) {
  auto held = Take();
  ASSERT_NE(held, nullptr);
  directory_.Write("x/file", "text");
  held.reset();
  EXPECT_EQ(directory_.Read("x/file"), "text");
}

TEST_F(PlaceholderTest, LeavesWhatTookItsPlace) {
  auto held = Take();
  ASSERT_NE(held, nullptr);
  std::filesystem::remove(directory_.Path("x"));
  ASSERT_EQ(mkdir(directory_.Path("x").c_str(), 0755), 0);
  held.reset();
  EXPECT_TRUE(directory_.Has("x"));
}

constexpr Placeholder::Form kFile{.is_file = true, .text = ".\n"};

TEST_F(PlaceholderTest, MayBeAFileThatSaysSomething) {
  auto first = Take("x", kFile);
  auto second = Take("x", kFile);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(directory_.Read("x"), ".\n");
  EXPECT_TRUE(Placeholder::IsOne(parent_.get(), "x", kFile));
  EXPECT_FALSE(Placeholder::IsOne(parent_.get(), "x", {}));
  first.reset();
  EXPECT_TRUE(directory_.Has("x"));
  second.reset();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(PlaceholderTest, AsAFileTakesOverAndRemovesOnlyItsLike) {
  directory_.Write("left", ".\n");
  ASSERT_EQ(chmod(directory_.Path("left").c_str(), 01644), 0);
  EXPECT_NE(Take("left", kFile), nullptr);
  EXPECT_FALSE(directory_.Has("left"));
  directory_.Write("theirs", ".\n");
  directory_.Write("other", "text");
  ASSERT_EQ(chmod(directory_.Path("other").c_str(), 01644), 0);
  ASSERT_EQ(mkfifo(directory_.Path("fifo").c_str(), 01644), 0);
  for (const char* name : {"theirs", "other", "fifo"}) {
    EXPECT_EQ(Take(name, kFile), nullptr) << name;
    EXPECT_TRUE(directory_.Has(name)) << name;
  }
  auto held = Take("x", kFile);
  directory_.Write("x", "somebody's");
  held.reset();
  EXPECT_EQ(directory_.Read("x"), "somebody's");
}

// A command does this with `chmod 555 .`. Modes do not stop root.
TEST_F(PlaceholderTest, GoesFromADirectoryThatWasMadeUnwritable) {
  for (const mode_t mode : {0555U, 0444U, 0000U}) {
    auto directory = Take("d");
    auto file = Take("f", kFile);
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(chmod(directory_.path().c_str(), mode), 0);
    directory.reset();
    file.reset();
    struct stat status {};
    ASSERT_EQ(stat(directory_.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    ASSERT_EQ(chmod(directory_.path().c_str(), 0700), 0);
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << mode;
  }
}

TEST_F(PlaceholderTest, IsMadeInADirectoryThatItsOwnerMadeUnwritable) {
  ASSERT_EQ(chmod(directory_.path().c_str(), 0555), 0);
  auto held = Take();
  EXPECT_NE(held, nullptr);
  EXPECT_TRUE(directory_.Has("x"));
  held.reset();
  EXPECT_FALSE(directory_.Has("x"));
  struct stat status {};
  ASSERT_EQ(stat(directory_.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0555U);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0700), 0);
}

TEST_F(PlaceholderTest, WhereNothingCanBeMadeIsAnError) {
  auto taken = Placeholder::Take(-1, "x", {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kSetup);
}

}  // namespace
}  // namespace native_runner

#include "supervise/project/placeholder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class PlaceholderDirectoryTest : public testing::Test {
 protected:
  std::unique_ptr<PlaceholderDirectory> Take(const char* name = "x") {
    auto taken = PlaceholderDirectory::Take(parent_.get(), name);
    if (!taken) {
      ADD_FAILURE() << taken.error().message;
      return nullptr;
    }
    return *taken ? std::make_unique<PlaceholderDirectory>(std::move(**taken)) : nullptr;
  }

  TempDirectory directory_;
  Descriptor parent_{open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(PlaceholderDirectoryTest, StandsWhileItIsHeld) {
  auto held = Take();
  ASSERT_NE(held, nullptr);
  EXPECT_TRUE(std::filesystem::is_directory(directory_.Path("x")));
  EXPECT_TRUE(PlaceholderDirectory::IsOne(parent_.get(), "x"));
  held.reset();
  EXPECT_FALSE(directory_.Has("x"));
}

TEST_F(PlaceholderDirectoryTest, StandsUntilTheLastHolderIsGone) {
  auto first = Take();
  auto second = Take();
  ASSERT_NE(second, nullptr);
  first.reset();
  EXPECT_TRUE(directory_.Has("x"));
  second.reset();
  EXPECT_FALSE(directory_.Has("x"));
}

TEST_F(PlaceholderDirectoryTest, IsTakenOverFromAProcessThatDied) {
  ASSERT_EQ(mkdir(directory_.Path("x").c_str(), 0755), 0);
  ASSERT_EQ(chmod(directory_.Path("x").c_str(), 01755), 0);
  auto held = Take();
  ASSERT_NE(held, nullptr);
  held.reset();
  EXPECT_FALSE(directory_.Has("x"));
}

TEST_F(PlaceholderDirectoryTest, NeitherTakesNorRemovesWhatIsSomebodyElses) {
  ASSERT_EQ(mkdir(directory_.Path("empty").c_str(), 0755), 0);
  std::filesystem::create_directory(directory_.Path("full"));
  directory_.Write("full/file", "text");
  ASSERT_EQ(chmod(directory_.Path("full").c_str(), 01755), 0);
  directory_.Write("file", "text");
  std::filesystem::create_symlink("empty", directory_.Path("link"));
  for (const char* name : {"empty", "full", "file", "link"}) {
    EXPECT_FALSE(PlaceholderDirectory::IsOne(parent_.get(), name)) << name;
    EXPECT_EQ(Take(name), nullptr) << name;
    EXPECT_TRUE(directory_.Has(name)) << name;
  }
}

TEST_F(PlaceholderDirectoryTest, StaysWhenSomethingWasPutIntoIt) {
  auto held = Take();
  ASSERT_NE(held, nullptr);
  directory_.Write("x/file", "text");
  held.reset();
  EXPECT_EQ(directory_.Read("x/file"), "text");
}

TEST_F(PlaceholderDirectoryTest, LeavesWhatTookItsPlace) {
  auto held = Take();
  ASSERT_NE(held, nullptr);
  std::filesystem::remove(directory_.Path("x"));
  ASSERT_EQ(mkdir(directory_.Path("x").c_str(), 0755), 0);
  held.reset();
  EXPECT_TRUE(directory_.Has("x"));
}

TEST_F(PlaceholderDirectoryTest, WhereNothingCanBeMadeIsAnError) {
  auto taken = PlaceholderDirectory::Take(-1, "x");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kSetup);
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "supervise/host/host.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

// Longer than the time within which a stamp is not trusted.
void WaitUntilSettled() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
}

TEST(DirectoryStamps, AreUnchangedUntilANameChanges) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.Path("a"));
  WaitUntilSettled();
  DirectoryStamps stamps;
  stamps.Add(directory.Path("a"));
  EXPECT_TRUE(stamps.Unchanged());
  std::filesystem::create_directory(directory.Path("a/b"));
  EXPECT_FALSE(stamps.Unchanged());
}

// The host's temporary directory changes all the time, so the tests below start further down.
TEST(DirectoryStamps, CoverAllThatIsAboveAName) {
  DirectoryStamps quiet;
  quiet.AddAbove("/usr/share/name");
  EXPECT_TRUE(quiet.Unchanged());

  const TempDirectory directory;
  std::filesystem::create_directories(directory.Path("a/b"));
  WaitUntilSettled();
  DirectoryStamps stamps;
  stamps.AddAbove(directory.Path("a/b/c"));
  std::filesystem::create_directory(directory.Path("new"));
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, NoticeADirectoryThatWasReplaced) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.Path("a"));
  std::filesystem::create_directories(directory.Path("new"));
  WaitUntilSettled();
  DirectoryStamps stamps;
  stamps.Add(directory.Path("a"));
  EXPECT_TRUE(stamps.Unchanged());
  std::filesystem::rename(directory.Path("a"), directory.Path("old"));
  std::filesystem::rename(directory.Path("new"), directory.Path("a"));
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, NoticeADirectoryThatComes) {
  const TempDirectory directory;
  DirectoryStamps stamps;
  stamps.Add(directory.Path("a"));
  EXPECT_TRUE(stamps.Unchanged());
  std::filesystem::create_directory(directory.Path("a"));
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, AreNotTrustedWhenTooYoung) {
  const TempDirectory directory;
  DirectoryStamps stamps;
  stamps.Add(directory.path());
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, AreNotTrustedAlongALink) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.Path("real"));
  std::filesystem::create_symlink("real", directory.Path("link"));
  WaitUntilSettled();
  DirectoryStamps straight;
  straight.Add(directory.Path("real"));
  EXPECT_TRUE(straight.Unchanged());
  DirectoryStamps along;
  along.Add(directory.Path("link"));
  EXPECT_FALSE(along.Unchanged());
}

TEST(DirectoryStamps, CanBeDistrusted) {
  DirectoryStamps stamps;
  EXPECT_TRUE(stamps.Unchanged());
  stamps.Invalidate();
  EXPECT_FALSE(stamps.Unchanged());
}

}  // namespace
}  // namespace native_runner

#include "supervise/directory_stamps.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

// Longer than the time within which a stamp is not trusted.
void WaitUntilSettled() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
}

TEST(DirectoryStamps, AreUnchangedUntilANameChanges) {
  const TempDirectory directory;
  const std::string name = directory.Path("a/b");
  std::filesystem::create_directory(directory.Path("a"));
  WaitUntilSettled();
  DirectoryStamps stamps;
  stamps.AddAbove(name);
  EXPECT_TRUE(stamps.Unchanged());
  std::filesystem::create_directory(directory.Path("a/b"));
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, NoticeADirectoryThatWasReplacedAbove) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.Path("a/b"));
  std::filesystem::create_directories(directory.Path("new/b"));
  WaitUntilSettled();
  DirectoryStamps stamps;
  stamps.AddAbove(directory.Path("a/b/c"));
  EXPECT_TRUE(stamps.Unchanged());
  std::filesystem::rename(directory.Path("a"), directory.Path("old"));
  std::filesystem::rename(directory.Path("new"), directory.Path("a"));
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, NoticeADirectoryThatComes) {
  const TempDirectory directory;
  WaitUntilSettled();
  DirectoryStamps stamps;
  stamps.AddAbove(directory.Path("a/b"));
  EXPECT_TRUE(stamps.Unchanged());
  std::filesystem::create_directory(directory.Path("a"));
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, AreNotTrustedWhenTooYoung) {
  const TempDirectory directory;
  const std::string file = directory.Write("file", "");
  DirectoryStamps stamps;
  stamps.AddAbove(file);
  EXPECT_FALSE(stamps.Unchanged());
}

TEST(DirectoryStamps, AreNotTrustedAlongALink) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.Path("real"));
  std::filesystem::create_symlink("real", directory.Path("link"));
  WaitUntilSettled();
  DirectoryStamps straight;
  straight.AddAbove(directory.Path("real/name"));
  EXPECT_TRUE(straight.Unchanged());
  DirectoryStamps along;
  along.AddAbove(directory.Path("link/name"));
  EXPECT_FALSE(along.Unchanged());
}

TEST(DirectoryStamps, CanBeDistrusted) {
  DirectoryStamps stamps;
  EXPECT_TRUE(stamps.Unchanged());
  stamps.Distrust();
  EXPECT_FALSE(stamps.Unchanged());
}

}  // namespace
}  // namespace native_runner

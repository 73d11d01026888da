#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "supervise/host/fingerprint.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

timespec Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

TEST(AnyReplacedSince, NoticesAFileThatAnotherWasRenamedOver) {
  const TempDirectory directory;
  directory.Write("file", "one");
  directory.Write("other", "two");
  std::filesystem::create_directory(directory.Path("folder"));
  const std::vector<std::string> paths = {directory.Path("file"), directory.Path("folder")};
  usleep(100'000);  // file systems stamp with a clock that ticks
  const timespec since = Now();
  EXPECT_FALSE(AnyReplacedSince({}, since));
  EXPECT_FALSE(AnyReplacedSince(paths, since));
  directory.Write("folder/new", "in it");
  EXPECT_FALSE(AnyReplacedSince(paths, since)) << "a directory changes with every entry";
  std::filesystem::rename(directory.Path("other"), directory.Path("file"));
  EXPECT_TRUE(AnyReplacedSince(paths, since));
  usleep(100'000);
  EXPECT_FALSE(AnyReplacedSince(paths, Now()));
  std::filesystem::remove(directory.Path("file"));
  EXPECT_TRUE(AnyReplacedSince(paths, Now())) << "it is gone";
}

}  // namespace
}  // namespace native_runner

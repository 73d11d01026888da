// What a run adds, without a run: a test's own writes stand for it.
#include "supervise/run/written_space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

class WrittenSpaceTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return place_.path() + "/" + name; }
  void Write(const std::string& name, std::size_t bytes) const {
    std::ofstream(Path(name), std::ios::app) << std::string(bytes, 'x');
  }
  WrittenSpace Space(std::uint64_t most) const {
    Limits limits;
    limits.write_bytes = most;
    return {{.counted = {place_.path()}}, limits};
  }
  // At the end nothing is left to the time between two walks.
  static std::string Seen(WrittenSpace& space) {
    const char* const limit = space.LookAtEnd();
    return limit == nullptr ? "" : limit;
  }

  TempDirectory place_;
};

TEST_F(WrittenSpaceTest, CountsWhatIsAddedAndNotWhatWasThere) {
  Write("old", 4 * kMebibyte);
  WrittenSpace space = Space(2 * kMebibyte);
  ASSERT_EQ(space.Begin(), std::nullopt);
  EXPECT_EQ(Seen(space), "");
  Write("new", kMebibyte);
  EXPECT_EQ(Seen(space), "");
  Write("old", 2 * kMebibyte);
  EXPECT_EQ(Seen(space), "writeBytes");
  fs::remove(Path("old"));
  EXPECT_EQ(Seen(space), "") << "what is removed is taken off";
}

TEST_F(WrittenSpaceTest, AHoleIsNothingAndAPageIsSomething) {
  WrittenSpace space = Space(kMebibyte);
  ASSERT_EQ(space.Begin(), std::nullopt);
  Write("sparse", 1);
  fs::resize_file(Path("sparse"), 64 * kMebibyte);
  EXPECT_EQ(Seen(space), "");
  const Descriptor file(open(Path("sparse").c_str(), O_RDWR | O_CLOEXEC));
  void* const map =
      mmap(nullptr, 64 * kMebibyte, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  for (std::size_t at = 0; at < 64 * kMebibyte; at += kMebibyte / 32)
    static_cast<char*>(map)[at] = 1;
  EXPECT_EQ(Seen(space), "writeBytes");
  munmap(map, 64 * kMebibyte);
}

TEST_F(WrittenSpaceTest, AFileOfSeveralNamesAndRootsCountsOnce) {
  fs::create_directory(Path("home"));
  Limits limits;
  limits.write_bytes = 3 * kMebibyte;
  WrittenSpace space({.counted = {place_.path(), Path("home"), place_.path()}}, limits);
  ASSERT_EQ(space.Begin(), std::nullopt);
  Write("home/one", 2 * kMebibyte);
  fs::create_hard_link(Path("home/one"), Path("home/two"));
  EXPECT_EQ(Seen(space), "");
  Write("home/three", 2 * kMebibyte);
  EXPECT_EQ(Seen(space), "writeBytes");
}

TEST_F(WrittenSpaceTest, ADeletedFileCountsWhileAProcessHasIt) {
  WrittenSpace space = Space(2 * kMebibyte);
  ASSERT_EQ(space.Begin(), std::nullopt);
  const std::string script = "exec 7> " + Path("gone") + "; rm " + Path("gone") +
                             "; head -c 4M /dev/zero >&7; touch " + Path("done") +
                             "; exec sleep 60";
  auto child = Child::Spawn(ShellOrder(script));
  ASSERT_TRUE(child);
  const KilledAtEnd end(&*child);
  while (!fs::exists(Path("done")))
    usleep(1000);
  space.SetLauncher(getpid());
  EXPECT_STREQ(space.Look(), "writeBytes");
  child->Signal(SIGKILL);
  ASSERT_TRUE(WaitForExit(child->pidfd()));
  child->Reap();
  EXPECT_EQ(space.Look(), nullptr);
}

TEST_F(WrittenSpaceTest, ReserveIsWhatMustStayFree) {
  Limits limits;
  limits.reserve_bytes = 1;
  WrittenSpace space({.counted = {}, .watched = {place_.path(), "/nonexistent"}}, limits);
  EXPECT_EQ(space.Begin(), std::nullopt);
  EXPECT_EQ(space.Look(), nullptr);
  limits.reserve_bytes = std::uint64_t{1} << 62U;
  WrittenSpace more({.counted = {place_.path()}}, limits);
  const auto error = more.Begin();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kSetup);
  EXPECT_NE(error->message.find("limits.reserveBytes"), std::string::npos);
  EXPECT_NE(error->message.find(place_.path()), std::string::npos);
  EXPECT_STREQ(more.Look(), "reserveBytes");
}

TEST_F(WrittenSpaceTest, APlaceThatIsGoneIsASetupError) {
  Limits limits;
  limits.write_bytes = 1;
  WrittenSpace space({.counted = {"/nonexistent"}}, limits);
  const auto error = space.Begin();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kSetup);
}

TEST_F(WrittenSpaceTest, MemoryThatCannotBeFoundIsASetupError) {
  Limits limits;
  limits.write_bytes = 1;
  WrittenSpace space({.counted = {}, .watched = {}, .has_memory = true}, limits);
  ASSERT_EQ(space.Begin(), std::nullopt);
  const auto error = space.Enter(getpid(), true);  // its mounts are the host's
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("limits.writeBytes"), std::string::npos);
}

TEST_F(WrittenSpaceTest, AProcessThatHasEndedHasNoMountsToLookAt) {
  Limits limits;
  limits.write_bytes = 1;
  WrittenSpace space({.counted = {}, .watched = {}, .has_memory = true}, limits);
  ASSERT_EQ(space.Begin(), std::nullopt);
  auto child = Child::Spawn(ShellOrder("exit 0"));
  ASSERT_TRUE(child);
  const KilledAtEnd end(&*child);
  ASSERT_TRUE(WaitForExit(child->pidfd()));
  const pid_t process = NumberOfPidfd(child->pidfd());
  ASSERT_GT(process, 0);
  EXPECT_EQ(space.Enter(process, true), std::nullopt) << "dead, and not reaped";
  EXPECT_TRUE(space.Enter(getpid(), true)) << "the control: one that lives";
}

}  // namespace
}  // namespace native_runner

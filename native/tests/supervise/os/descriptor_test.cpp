#include "supervise/os/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "supervise/os/process.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

bool IsOpen(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}
bool IsCloseOnExec(int fd) {
  return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

// Every way of changing a file of which we hold a descriptor, or can open one anew.
std::vector<std::string> WaysToChange(int fd) {
  std::vector<std::string> ways;
  const auto note = [&ways](bool worked, const char* way) {
    if (worked) ways.emplace_back(way);
  };
  const std::string again = "/proc/self/fd/" + std::to_string(fd);
  const Descriptor reopened(open(again.c_str(), O_RDWR | O_CLOEXEC));
  note(pwrite(fd, "x", 1, 0) == 1, "write");
  note(reopened.valid() && pwrite(reopened.get(), "x", 1, 0) == 1, "write after open");
  note(ftruncate(fd, 1) == 0, "shrink");
  note(ftruncate(fd, 1 << 16) == 0, "grow");
  note(open(again.c_str(), O_RDWR | O_TRUNC | O_CLOEXEC) >= 0, "open to truncate");
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  note(mapped != MAP_FAILED, "map");
  if (mapped != MAP_FAILED) munmap(mapped, 4096);
  note(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0, "punch a hole");
  return ways;
}

TEST(Descriptor, ClosesWhatItOwns) {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    const Descriptor owner(fd);
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(Descriptor, MovesOwnership) {
  Descriptor first(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fd = first.get();
  Descriptor second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(second.get(), fd);

  Descriptor third(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), fd);
  EXPECT_FALSE(IsOpen(replaced));

  Descriptor& same = third;
  third = std::move(same);
  EXPECT_TRUE(IsOpen(fd));
  third.Close();
  third.Close();
  EXPECT_FALSE(third.valid());
  EXPECT_FALSE(IsOpen(fd));
}

TEST(Descriptor, EverythingIsCloseOnExec) {
  auto pipe = MakePipe();
  auto file = OpenPath("/dev/null", O_RDONLY);
  auto memory = MemoryFile("test", "abc", 3, false);
  auto copy = SealedCopy("/bin/sh");
  ASSERT_TRUE(pipe && file && memory && copy);
  for (const int fd :
       {pipe->read.get(), pipe->write.get(), file->get(), memory->get(), copy->get()}) {
    EXPECT_TRUE(IsCloseOnExec(fd));
  }
}

TEST(Descriptor, ErrorsNameTheCallThePathAndTheCause) {
  const auto missing = OpenPath("/nonexistent/file", O_RDONLY);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kSetup);
  EXPECT_EQ(missing.error().message, "open /nonexistent/file: No such file or directory");

  const auto copy = SealedCopy("/nonexistent/program");
  ASSERT_FALSE(copy);
  EXPECT_NE(copy.error().message.find("/nonexistent/program"), std::string::npos);
  const auto directory = SealedCopy("/usr");
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("/usr"), std::string::npos);
}

TEST(MemoryFileTest, IsReadFromItsStart) {
  const std::string text = "one\0two";
  for (const bool seal : {false, true}) {
    auto file = MemoryFile("test", text.data(), text.size(), seal);
    ASSERT_TRUE(file);
    EXPECT_EQ(ReadToEnd(file->get()), text);
  }
  auto empty = MemoryFile("test", nullptr, 0, true);
  ASSERT_TRUE(empty);
  EXPECT_EQ(ReadToEnd(empty->get()), "");
}

TEST(MemoryFileTest, OneThatIsSealedCannotBeChanged) {
  const std::string text(8192, 'a');
  auto open_one = MemoryFile("test", text.data(), text.size(), false);
  ASSERT_TRUE(open_one);
  EXPECT_EQ(WaysToChange(open_one->get()).size(), 7u) << "the probe itself must work";

  auto sealed = MemoryFile("test", text.data(), text.size(), true);
  ASSERT_TRUE(sealed);
  EXPECT_EQ(WaysToChange(sealed->get()), std::vector<std::string>{});
  EXPECT_EQ(ReadToEnd(sealed->get()), text);
}

TEST(MemoryFileTest, TheSealsStay) {
  auto sealed = MemoryFile("test", "a", 1, true);
  ASSERT_TRUE(sealed);
  const int seals = fcntl(sealed->get(), F_GET_SEALS);
  EXPECT_EQ(seals, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  EXPECT_EQ(fcntl(sealed->get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SealedCopyTest, HoldsTheSameBytesAndCannotBeChanged) {
  const TempDirectory directory;
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += std::to_string(i);
  const std::string path = directory.Write("program", text, 0755);
  auto copy = SealedCopy(path);
  ASSERT_TRUE(copy);
  directory.Write("program", "something else");
  EXPECT_EQ(WaysToChange(copy->get()), std::vector<std::string>{});
  ASSERT_EQ(lseek(copy->get(), 0, SEEK_SET), 0);
  EXPECT_EQ(ReadToEnd(copy->get()), text);
}

TEST(SealedCopyTest, CanBeExecutedButNotWrittenMeanwhile) {
  auto copy = SealedCopy("/bin/sh");
  auto pipe = MakePipe();
  ASSERT_TRUE(copy && pipe);
  SpawnOptions order = ShellOrder("echo running; (echo x > /proc/$$/exe) 2>/dev/null || echo safe");
  order.path = "/proc/self/fd/" + std::to_string(copy->get());
  order.Give(std::move(pipe->write), STDOUT_FILENO);
  auto child = Child::Spawn(std::move(order));
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(ReadToEnd(pipe->read.get()), "running\nsafe\n");
  ASSERT_TRUE(WaitForExit(child->pidfd()));
  EXPECT_EQ(child->Reap()->value, 0);
}

}  // namespace
}  // namespace native_runner

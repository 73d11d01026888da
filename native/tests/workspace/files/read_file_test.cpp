#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "tests/workspace/support/tree.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {
namespace {

TEST(ReadFileTest, GivesAllBytes) {
  const Tree tree;
  for (const std::size_t size : {0U, 1U, 16'384U, 65'536U, 65'537U, 700'001U}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
      text[i] = static_cast<char>(i * 7);
    tree.Write("data", text);
    const auto read = ReadFile(tree.Root(), "data", size);
    ASSERT_TRUE(read) << OutcomeOf(read);
    EXPECT_EQ(TextOf(read.value()), text) << size;
  }
}

TEST(ReadFileTest, OneByteTooManyIsTooLarge) {
  const Tree tree;
  for (const std::size_t size : {1U, 2U, 65'536U, 65'537U}) {
    tree.Write("data", std::string(size, 'x'));
    EXPECT_EQ(OutcomeOf(ReadFile(tree.Root(), "data", size)), "");
    EXPECT_EQ(OutcomeOf(ReadFile(tree.Root(), "data", size - 1)), "too large") << size;
  }
}

// The file has 1 TiB, nearly all of it holes. Its size alone is the reason of the refusal.
TEST(ReadFileTest, ASparseFileIsNotReadToFindOut) {
  const Tree tree;
  tree.Write("sparse", "");
  if (truncate(tree.Path("sparse").c_str(), off_t{1} << 40U) != 0) GTEST_SKIP() << "no such size";
  EXPECT_EQ(OutcomeOf(ReadFile(tree.Root(), "sparse", std::uint64_t{1} << 31U)), "too large");
}

TEST(ReadFileTest, AFileWithoutASizeIsReadToItsEndAndNoFurther) {
  const auto root = Beneath::Open("/proc/self");
  ASSERT_TRUE(root);
  const auto read = ReadFile(root.value(), "status", 1U << 20U);
  ASSERT_TRUE(read) << OutcomeOf(read);
  EXPECT_NE(TextOf(read.value()).find("Pid:"), std::string::npos);
  EXPECT_EQ(OutcomeOf(ReadFile(root.value(), "status", 10)), "too large");
}

TEST(ReadFileTest, OnlyFilesAreOpened) {
  const Tree tree;
  ASSERT_EQ(mkfifo(tree.Path("fifo").c_str(), 0644), 0);
  const Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = tree.Path("socket");
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(Contents(tree.Root(), "fifo"), "[ENXIO]");
  EXPECT_EQ(Contents(tree.Root(), "socket"), "[ENXIO]");
  EXPECT_EQ(Contents(tree.Root(), "inner"), "[EISDIR]");
  EXPECT_EQ(Contents(tree.Root(), ""), "[EISDIR]");
  const auto devices = Beneath::Open("/dev");
  ASSERT_TRUE(devices);
  EXPECT_EQ(Contents(devices.value(), "zero"), "[ENXIO]");
  EXPECT_EQ(Contents(devices.value(), "null"), "[ENXIO]");
}

// The writer of a FIFO would notice a reader that opens it.
TEST(ReadFileTest, AFifosWriterSeesNoReader) {
  const Tree tree;
  ASSERT_EQ(mkfifo(tree.Path("fifo").c_str(), 0644), 0);
  EXPECT_EQ(Contents(tree.Root(), "fifo"), "[ENXIO]");
  EXPECT_LT(open(tree.Path("fifo").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), 0);
  EXPECT_EQ(errno, ENXIO);
}

TEST(ReadFileTest, NobodyWaitsForALease) {
  const Tree tree;
  const Descriptor held(open(tree.Path("file").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(held.valid());
  signal(SIGIO, SIG_IGN);  // how its holder is told
  if (fcntl(held.get(), F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases here";
  EXPECT_EQ(Contents(tree.Root(), "file"), "[EAGAIN]");
  ASSERT_EQ(fcntl(held.get(), F_SETLEASE, F_UNLCK), 0);
  EXPECT_EQ(Contents(tree.Root(), "file"), "inside");
}

TEST(ReadFileTest, ModesAreKept) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const Tree tree;
  tree.Write("hidden", "text", 0);
  EXPECT_EQ(Contents(tree.Root(), "hidden"), "[EACCES]");
}

}  // namespace
}  // namespace native_runner

// A program of the host's writes through a mapping to a file that a commit, or an undo, is about to
// take away. On a tmpfs no time says so.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>

#include "supervise/os/descriptor.h"
#include "tests/workspace/support/changed_project.h"
#include "tests/workspace/support/stepping.h"

namespace native_runner {
namespace {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    map_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    EXPECT_NE(map_, MAP_FAILED);
    inode_ = InodeOf(path);
    first_ = *Bytes();  // from now on no write to the page is noticed
  }
  ~MappedFile() { munmap(map_, kSize); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  void Write(const char* four) const {
    for (std::size_t at = 0; at < kSize; ++at)
      Bytes()[at] = four[at];
  }
  void WriteNothingNew() const { *Bytes() = first_; }
  bool IsAt(const std::string& path) const { return InodeOf(path) == inode_; }

 private:
  static constexpr std::size_t kSize = 4;

  static std::uint64_t InodeOf(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  volatile char* Bytes() const { return static_cast<volatile char*>(map_); }

  void* map_ = MAP_FAILED;
  std::uint64_t inode_ = 0;
  char first_ = 0;
};

class MappedWriteTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Overlay::CanBeApart()) GTEST_SKIP() << "there is no second file system, a tmpfs";
  }
};

TEST_F(MappedWriteTest, IsAConflictUntilTheFileIsTakenAwayAndLostNever) {
  int refused = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project(true);
    const std::string path = project.overlay().Host("a");
    const MappedFile mapped(path);
    bool was_there = false;
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Commit(PathFilter(), project.ledger()).failed) _exit(1);
        },
        step,
        [&](pid_t) {
          was_there = mapped.IsAt(path);
          mapped.Write("EDIT");
        });
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const bool is_refused = WIFEXITED(stepped.status) && WEXITSTATUS(stepped.status) == 1;
    ASSERT_TRUE(is_refused || !was_there) << step;
    if (!is_refused) {
      ASSERT_FALSE(project.Undo().failed) << step;
    }
    refused += is_refused ? 1 : 0;
    ASSERT_EQ(project.Host()["a"], "100644 EDIT a") << step;
  }
  EXPECT_GT(refused, 10 / StepsApart(1));
}

TEST_F(MappedWriteTest, OfWhatWasThereIsNone) {
  const ChangedProject project(true);
  const MappedFile mapped(project.overlay().Host("a"));
  mapped.WriteNothingNew();
  EXPECT_FALSE(project.Commit(PathFilter(), project.ledger()).failed);
  EXPECT_EQ(project.Host()["a"], "100755 mine a");
}

TEST_F(MappedWriteTest, OfWhatWasCommittedIsNotUndone) {
  int refused = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const ChangedProject project(true);
    ASSERT_FALSE(project.Commit(PathFilter(), project.ledger()).failed);
    const std::string path = project.overlay().Host("a");
    const MappedFile mapped(path);
    bool was_there = false;
    const Stepped stepped = RunToStep(
        [&] {
          if (project.Undo().failed) _exit(1);
        },
        step,
        [&](pid_t) {
          was_there = mapped.IsAt(path);
          mapped.Write("EDIT");
        });
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    if (!was_there) continue;
    ASSERT_TRUE(WIFEXITED(stepped.status) && WEXITSTATUS(stepped.status) == 1) << step;
    ASSERT_EQ(project.Host()["a"], "100755 EDIT a") << step;
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace native_runner

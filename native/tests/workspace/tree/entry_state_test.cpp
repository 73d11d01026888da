#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "supervise/os/descriptor.h"
#include "tests/workspace/support/tree.h"
#include "workspace/tree/file_stat.h"

namespace native_runner {
namespace {

std::uint64_t Nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void ExpectAsStat(const EntryState& state, const struct stat& seen) {
  EXPECT_EQ(state, (EntryState{seen.st_mode, seen.st_dev, seen.st_ino,
                               static_cast<std::uint64_t>(seen.st_size), Nanoseconds(seen.st_mtim),
                               Nanoseconds(seen.st_ctim)}));
}

TEST(EntryStateTest, IsThatOfStat) {
  const Tree tree;
  tree.Link("nowhere", "link");
  for (const char* name : {"file", "inner", "link"}) {
    const std::string path = tree.Path(name);
    const auto state = StateAt(path);
    ASSERT_TRUE(state.ok()) << name;
    struct stat seen {};
    ASSERT_EQ(lstat(path.c_str(), &seen), 0);
    ExpectAsStat(state.value(), seen);
  }
}

TEST(EntryStateTest, IsThatOfAnOpenFile) {
  const Tree tree;
  const Descriptor file(open(tree.Path("file").c_str(), O_RDONLY | O_CLOEXEC));
  tree.Write("file", "longer than it was before");
  const auto state = StateOf(file.get(), "", "fstat");
  ASSERT_TRUE(state.ok());
  struct stat seen {};
  ASSERT_EQ(fstat(file.get(), &seen), 0);
  ExpectAsStat(state.value(), seen);
}

TEST(EntryStateTest, TellsWhyThereIsNone) {
  const Tree tree;
  const auto state = StateAt(tree.Path("missing"));
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.error().number, ENOENT);
  EXPECT_STREQ(state.error().call, "lstat");
  EXPECT_EQ(StateOf(-1, "", "fstat").error().number, EBADF);
  EXPECT_EQ(StateAt("").error().number, ENOENT);
  const std::string cut = tree.Path("file") + '\0' + "more";
  EXPECT_EQ(StateAt(cut).error().number, EINVAL);
}

}  // namespace
}  // namespace native_runner

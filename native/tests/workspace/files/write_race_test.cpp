#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/workspace/support/tree.h"
#include "tests/workspace/support/writing.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {
namespace {

TEST(WriteRaceTest, AReaderNeverSeesHalf) {
  const Tree tree;
  const std::string a(70'000, 'a');
  const std::string b(120'000, 'b');
  ASSERT_TRUE(Write(tree.Root(), "shared", a));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    const Beneath root = tree.Root();
    for (int i = 0; !stop; ++i)
      if (!Write(root, "shared", i % 2 == 0 ? b : a)) break;
  });
  constexpr int kReads = 2000;
  int seen_a = 0;
  int seen_b = 0;
  for (int i = 0; i < kReads; ++i) {
    const std::string text = Contents(tree.Root(), "shared");
    seen_a += text == a ? 1 : 0;
    seen_b += text == b ? 1 : 0;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(seen_a + seen_b, kReads);
  EXPECT_GT(seen_a, 0);
  EXPECT_GT(seen_b, 0);
  EXPECT_EQ(tree.Names(), (std::set<std::string>{"file", "inner", "shared"}));
}

// All writers increment the number in one file, and no step is lost.
TEST(WriteRaceTest, WritersWhoSayWhatTheyHaveSeenDoNotOverwriteEachOther) {
  const Tree tree;
  constexpr int kWriters = 4;
  constexpr int kSteps = 500;
  ASSERT_TRUE(Write(tree.Root(), "count", "0"));
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&tree] {
      const Beneath root = tree.Root();
      for (int step = 0; step < kSteps;) {
        const auto entry = root.Entry("count", "stat");
        if (!entry) continue;
        const FileVersion version = StatOf(entry.value().get(), "stat").value().version;
        const std::string next = std::to_string(std::atoi(Contents(root, "count").c_str()) + 1);
        if (Write(root, "count", next, Unchanged(version))) ++step;
      }
    });
  }
  for (std::thread& writer : writers)
    writer.join();
  EXPECT_EQ(tree.Text("count"), std::to_string(kWriters * kSteps));
  EXPECT_EQ(tree.Names(), (std::set<std::string>{"count", "file", "inner"}));
}

// Another program writes at the same moment, without a version. In the end its contents are there,
// or the call that replaced them has seen them.
TEST(WriteRaceTest, WhatAnotherProgramWritesMeanwhileIsNotLost) {
  const Tree tree;
  const Beneath root = tree.Root();
  constexpr int kRounds = 400;
  constexpr int kMostRounds = 100'000;  // which comes first is up to the host's scheduler
  int round = 0;
  int replaced = 0;
  int refused = 0;
  for (; round < kRounds || (round < kMostRounds && (replaced == 0 || refused == 0)); ++round) {
    ASSERT_TRUE(Write(root, "file", "before"));
    tree.Write("foreign", "foreign");
    const FileVersion version = VersionOf(root, "file");
    std::atomic<bool> go = false;
    std::thread foreign([&] {
      while (!go) {
      }
      for (int spin = 0; spin < round % 50 * (round % 50) * 40; ++spin)
        std::atomic_signal_fence(std::memory_order_seq_cst);
      std::filesystem::rename(tree.Path("foreign"), tree.Path("file"));
    });
    go = true;
    const auto written = Write(root, "file", "mine", Unchanged(version));
    foreign.join();
    replaced += written ? 1 : 0;
    refused += OutcomeOf(written) == "changed" ? 1 : 0;
    ASSERT_EQ(tree.Text("file"), "foreign") << OutcomeOf(written);
  }
  EXPECT_EQ(replaced + refused, round);
  EXPECT_GT(replaced, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(tree.Names(), (std::set<std::string>{"file", "inner"}));
}

TEST(WriteRaceTest, AFileThatIsKeptLockedIsNotWaitedForForEver) {
  const Tree tree;
  const Beneath root = tree.Root();
  const FileVersion version = VersionOf(root, "file");
  Descriptor locked(open(tree.Path("file").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(locked.get(), LOCK_EX), 0);
  EXPECT_EQ(OutcomeOf(Write(root, "file", "mine", Unchanged(version))), "EBUSY");
  EXPECT_EQ(tree.Text("file"), "inside");
  locked.Close();
  EXPECT_EQ(OutcomeOf(Write(root, "file", "mine", Unchanged(version))), "");
}

TEST(LockFileTest, SharedLocksAreHadTogetherAndKeepTheExclusiveOneAway) {
  const Tree tree;
  const auto opened = [&tree] { return Descriptor(open(tree.Path("inner").c_str(), O_RDONLY)); };
  Descriptor one = opened();
  Descriptor two = opened();
  const Descriptor three = opened();
  EXPECT_TRUE(LockFile(one.get(), LockKind::kShared).value());
  EXPECT_TRUE(LockFile(two.get(), LockKind::kShared).value());
  EXPECT_FALSE(LockFile(three.get(), LockKind::kExclusive).value());
  two.Close();
  EXPECT_TRUE(LockFile(one.get(), LockKind::kExclusive).value());  // the only one left
  EXPECT_FALSE(LockFile(three.get(), LockKind::kShared).value());
  one.Close();
  EXPECT_TRUE(LockFile(three.get(), LockKind::kShared).value());
}

TEST(MakeFifoTest, HasItsModeAndTakesNoName) {
  const Tree tree;
  ASSERT_TRUE(MakeFifo(tree.Path("fifo"), 0626));
  struct stat status {};
  ASSERT_EQ(lstat(tree.Path("fifo").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode, mode_t{S_IFIFO | 0626});
  EXPECT_FALSE(MakeFifo(tree.Path("file"), 0600));
  EXPECT_EQ(tree.Text("file"), "inside");
  const Descriptor file(open(tree.Path("file").c_str(), O_RDONLY));
  EXPECT_TRUE(SyncFileSystem(file.get()));
  EXPECT_FALSE(SyncFileSystem(-1));
}

TEST(WriteRaceTest, OfManyWhoMakeAFileOneHasMadeIt) {
  const Tree tree;
  for (int round = 0; round < 50; ++round) {
    const std::string name = "new" + std::to_string(round);
    std::atomic<int> made = 0;
    std::vector<std::thread> writers;
    for (const char* text : {"a", "b", "c"}) {
      writers.emplace_back([&, text] {
        if (Write(tree.Root(), name, text, Absent())) ++made;
      });
    }
    for (std::thread& writer : writers)
      writer.join();
    EXPECT_EQ(made, 1) << name;
  }
}

}  // namespace
}  // namespace native_runner

#include "supervise/os/file_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervise/os/descriptor.h"
#include "tests/supervise/support/loop.h"

namespace native_runner {
namespace {

// A look that waits until the test lets it go, at "/hung".
class Hung {
 public:
  Hung() : pipe_(std::make_shared<PipeEnds>(std::move(MakePipe().value()))) {}

  FileThreads::Work Look() const {
    return [pipe = pipe_] {
      NotePath("/hung");
      char byte = 0;
      static_cast<void>(read(pipe->read.get(), &byte, 1));
    };
  }
  void LetGo() { EXPECT_EQ(write(pipe_->write.get(), "xx", 2), 2); }

 private:
  std::shared_ptr<PipeEnds> pipe_;
};

constexpr std::uint64_t kMostMs = 10'000;

class FileThreadsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(threads_.Open(loop_.get()), 0); }
  void TearDown() override { threads_.Close(); }

  struct End {
    bool is_there = false;
    std::optional<Error> error;
  };
  FileThreads::Done To(End* end) {
    return [end](std::optional<Error> error) {
      EXPECT_FALSE(end->is_there) << "told twice";
      end->is_there = true;
      end->error = std::move(error);
    };
  }

  TestLoop loop_;  // closed last
  FileThreads threads_;
  char one_ = 0;
  char two_ = 0;
};

TEST_F(FileThreadsTest, DoesTheWorksOfOneKeyInOrder) {
  std::string order;
  End ends[3];
  for (int i = 0; i < 3; ++i)
    threads_.Do(
        &one_, [&order, i] { order += std::to_string(i); }, To(&ends[i]));
  EXPECT_FALSE(ends[0].is_there) << "Do must not call back";
  EXPECT_TRUE(loop_.RunUntil([&] { return ends[2].is_there; }));
  EXPECT_EQ(order, "012");
  EXPECT_FALSE(ends[2].error);
}

TEST_F(FileThreadsTest, AWorkThatHangsHoldsUpNoOtherKey) {
  Hung hung;
  End stuck;
  End other;
  threads_.Do(&one_, hung.Look(), To(&stuck));
  threads_.Do(
      &two_, [] {}, To(&other));
  EXPECT_TRUE(loop_.RunUntil([&] { return other.is_there; }));
  EXPECT_FALSE(other.error);
  EXPECT_FALSE(stuck.is_there);
  hung.LetGo();
  EXPECT_TRUE(loop_.RunUntil([&] { return stuck.is_there; }));
  EXPECT_FALSE(stuck.error);
}

TEST_F(FileThreadsTest, GivesUpWithThePath) {
  Hung hung;
  End stuck;
  End behind;
  End later;
  threads_.Do(&one_, hung.Look(), To(&stuck), 200);
  threads_.Do(
      &one_, [] {}, To(&behind), 200);
  EXPECT_TRUE(loop_.RunUntil([&] { return stuck.is_there && behind.is_there; }));
  for (const End* end : {&stuck, &behind}) {
    ASSERT_TRUE(end->error);
    EXPECT_EQ(end->error->code, ErrorCode::kSetup);
    EXPECT_NE(end->error->message.find("/hung"), std::string::npos) << end->error->message;
  }
  ASSERT_TRUE(threads_.Late(&one_));
  EXPECT_FALSE(threads_.Late(&two_));
  threads_.Do(
      &one_, [] {}, To(&later));
  hung.LetGo();
  EXPECT_TRUE(loop_.RunUntil([&] { return later.is_there; })) << "it answers again";
  EXPECT_FALSE(later.error);
  EXPECT_FALSE(threads_.Late(&one_));
}

TEST_F(FileThreadsTest, NamesAPathWhenAllThreadsHang) {
  FileThreads few(1);
  ASSERT_EQ(few.Open(loop_.get()), 0);
  Hung hung;
  End stuck;
  End waits;
  End later;
  few.Do(&one_, hung.Look(), To(&stuck));
  few.Do(
      &two_, [] {}, To(&waits), 300);
  EXPECT_TRUE(loop_.RunUntil([&] { return waits.is_there; }));
  ASSERT_TRUE(waits.error);
  EXPECT_NE(waits.error->message.find("/hung"), std::string::npos) << waits.error->message;
  EXPECT_TRUE(few.Late(&two_)) << "it still waits";
  few.Do(
      &two_, [] {}, To(&later));
  hung.LetGo();
  EXPECT_TRUE(loop_.RunUntil([&] { return stuck.is_there && later.is_there; }));
  EXPECT_FALSE(later.error);
  few.Close();
}

// What hangs may be let go when its owner, and the loop, are long gone.
TEST(FileThreads, AWorkMayOutliveTheLoop) {
  Hung hung;
  std::atomic<bool> has_begun = false;
  const auto used = std::make_shared<std::atomic<bool>>(false);
  {
    TestLoop loop;
    FileThreads threads;
    ASSERT_EQ(threads.Open(loop.get()), 0);
    threads.Do(
        &hung,
        [look = hung.Look(), used, &has_begun] {
          has_begun = true;
          look();
          *used = true;
        },
        [](const std::optional<Error>&) {});
    EXPECT_TRUE(loop.RunUntil([&] { return has_begun.load(); }));
    threads.Close();
  }
  EXPECT_GT(used.use_count(), 1) << "the thread shares what it uses";
  hung.LetGo();
  for (int turn = 0; used.use_count() > 1 && turn < 10'000; ++turn)
    usleep(1'000);
  EXPECT_EQ(used.use_count(), 1) << "it ends, and lets go of what it used";
  EXPECT_TRUE(*used);
}

TEST_F(FileThreadsTest, ClosesWithAWorkThatHangs) {
  Hung hung;
  End stuck;
  End behind;
  End late;
  threads_.Do(&one_, hung.Look(), To(&stuck));
  threads_.Do(
      &one_, [] {}, To(&behind));
  threads_.Close();
  for (const End* end : {&stuck, &behind}) {
    ASSERT_TRUE(end->error);
    EXPECT_EQ(end->error->code, ErrorCode::kClosed);
  }
  threads_.Do(
      &two_, [] { ADD_FAILURE() << "it was closed"; }, To(&late));
  EXPECT_TRUE(loop_.RunUntil([&] { return late.is_there; }));
  EXPECT_TRUE(late.error);
  hung.LetGo();  // the thread finds nobody to tell
}

TEST(BriefLooks, GivesUpWithThePathAndThenAtOnce) {
  BriefLooks looks;
  Hung hung;
  EXPECT_FALSE(looks.DoApart("/sound", [] {}));
  const auto first = looks.DoApart("/hung", hung.Look());
  ASSERT_TRUE(first);
  EXPECT_NE(first->message.find("/hung"), std::string::npos);
  bool was_done = false;
  EXPECT_TRUE(looks.DoApart("/hung", [&was_done] { was_done = true; }));
  EXPECT_FALSE(was_done) << "a second thread would hang as well";
  EXPECT_EQ(looks.SilentOf({"/", "/hung", "/proc"}, kMostMs), std::vector<std::string>{"/hung"});
  hung.LetGo();
  // The thread ends some time after it was let go.
  for (int turn = 0; turn < 10'000 && looks.DoApart("/hung", [] {}); ++turn)
    usleep(1'000);
  EXPECT_EQ(looks.SilentOf({"/", "/hung"}, kMostMs), std::vector<std::string>())
      << "one that is missing answers";
}

TEST(BriefLooks, LeavesNotMoreThanSoManyBehind) {
  BriefLooks looks;
  std::vector<Hung> hung(BriefLooks::kMostLeft);
  for (std::size_t at = 0; at < hung.size(); ++at)
    EXPECT_TRUE(looks.DoApart("/hung/" + std::to_string(at), hung[at].Look(), 1));
  bool was_done = false;
  const auto refused = looks.DoApart("/sound", [&was_done] { was_done = true; });
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->message.find("/hung"), std::string::npos) << refused->message;
  EXPECT_FALSE(was_done);
  hung[0].LetGo();
  for (int turn = 0; turn < 10'000 && looks.DoApart("/sound", [] {}); ++turn)
    usleep(1'000);
  EXPECT_FALSE(looks.DoApart("/sound", [] {}));
  for (std::size_t at = 1; at < hung.size(); ++at)
    hung[at].LetGo();
}

}  // namespace
}  // namespace native_runner

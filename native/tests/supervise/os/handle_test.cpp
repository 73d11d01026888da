#include "supervise/os/handle.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "supervise/os/descriptor.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

PipeEnds PipeWithAByte() {
  auto pipe = MakePipe();
  EXPECT_TRUE(pipe);
  EXPECT_EQ(write(pipe->write.get(), "x", 1), 1);
  return std::move(*pipe);
}

TEST(Poll, CallsBackWhileThereIsSomethingToRead) {
  TestLoop loop;
  const PipeEnds pipe = PipeWithAByte();
  Poll poll;
  int calls = 0;
  ASSERT_EQ(poll.Start(loop.get(), pipe.read.get(), UV_READABLE,
                       [&] {
                         char byte = 0;
                         if (++calls == 3) {
                           EXPECT_EQ(read(pipe.read.get(), &byte, 1), 1);
                         }
                       }),
            0);
  EXPECT_TRUE(poll.active());
  loop.RunFor(50);
  EXPECT_EQ(calls, 3);
}

TEST(Poll, CallsBackOnHangUp) {
  TestLoop loop;
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe);
  pipe->write.Close();
  Poll poll;
  int calls = 0;
  ASSERT_EQ(poll.Start(loop.get(), pipe->read.get(), UV_READABLE,
                       [&] {
                         ++calls;
                         poll.Stop();
                       }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

TEST(Poll, CanBeStoppedInItsCallback) {
  TestLoop loop;
  const PipeEnds pipe = PipeWithAByte();
  Poll poll;
  int calls = 0;
  const std::string captured(100, 'c');  // what the callback holds must outlive the stop
  ASSERT_EQ(poll.Start(loop.get(), pipe.read.get(), UV_READABLE,
                       [&calls, &poll, captured] {
                         poll.Stop();
                         poll.Stop();
                         calls += captured == std::string(100, 'c') ? 1 : 100;
                       }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(poll.active());
}

TEST(Poll, CanBeDestroyedInItsCallback) {
  TestLoop loop;
  PipeEnds pipe = PipeWithAByte();
  auto poll = std::make_unique<Poll>();
  int calls = 0;
  const std::string captured(100, 'c');
  ASSERT_EQ(poll->Start(loop.get(), pipe.read.get(), UV_READABLE,
                        [&calls, &poll, &pipe, captured] {
                          poll.reset();
                          pipe.read.Close();  // allowed as soon as the poll is gone
                          calls += captured == std::string(100, 'c') ? 1 : 100;
                        }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

TEST(Poll, CanBeRestartedInItsCallback) {
  TestLoop loop;
  const PipeEnds first = PipeWithAByte();
  const PipeEnds second = PipeWithAByte();
  Poll poll;
  std::string calls;
  ASSERT_EQ(poll.Start(loop.get(), first.read.get(), UV_READABLE,
                       [&] {
                         calls += "first ";
                         EXPECT_EQ(poll.Start(loop.get(), second.read.get(), UV_READABLE,
                                              [&] {
                                                calls += "second";
                                                poll.Stop();
                                              }),
                                   0);
                       }),
            0);
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, "first second");
}

// Both are ready in the same turn of the loop. The first to run destroys the other too.
TEST(Poll, OneMayDestroyAnotherThatIsReadyToo) {
  TestLoop loop;
  const PipeEnds pipes[] = {PipeWithAByte(), PipeWithAByte()};
  std::array<std::unique_ptr<Poll>, 2> polls;
  int calls = 0;
  for (std::size_t i = 0; i < polls.size(); ++i) {
    polls[i] = std::make_unique<Poll>();
    ASSERT_EQ(polls[i]->Start(loop.get(), pipes[i].read.get(), UV_READABLE,
                              [&] {
                                ++calls;
                                for (auto& poll : polls)
                                  poll.reset();
                              }),
              0);
  }
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

TEST(Poll, RefusesWhatCannotBeWatched) {
  TestLoop loop;
  const TempDirectory directory;
  const auto file = OpenPath(directory.Write("file", "text").c_str(), O_RDONLY);
  ASSERT_TRUE(file);
  Poll poll;
  EXPECT_LT(poll.Start(loop.get(), file.value().get(), UV_READABLE, [] {}), 0);
  EXPECT_FALSE(poll.active());
  EXPECT_LT(poll.Start(loop.get(), -1, UV_READABLE, [] {}), 0);
  EXPECT_FALSE(poll.active());
}

TEST(Timer, FiresOnceOrAgainAndAgain) {
  TestLoop loop;
  Timer once;
  Timer again;
  int calls = 0;
  int repeats = 0;
  once.Start(loop.get(), 1, 0, [&] { ++calls; });
  again.Start(loop.get(), 1, 1, [&] { ++repeats; });
  EXPECT_TRUE(loop.RunUntil([&] { return repeats >= 5; }));
  EXPECT_EQ(calls, 1);
  again.Stop();
  const int seen = repeats;
  loop.RunFor(20);
  EXPECT_EQ(repeats, seen);
}

TEST(Timer, CanBeStoppedInItsCallback) {
  TestLoop loop;
  Timer timer;
  int calls = 0;
  const std::string captured(100, 'c');
  timer.Start(loop.get(), 0, 1, [&calls, &timer, captured] {
    timer.Stop();
    calls += captured == std::string(100, 'c') ? 1 : 100;
  });
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(timer.active());
}

TEST(Timer, CanBeDestroyedInItsCallback) {
  TestLoop loop;
  auto timer = std::make_unique<Timer>();
  int calls = 0;
  const std::string captured(100, 'c');
  timer->Start(loop.get(), 0, 1, [&calls, &timer, captured] {
    timer.reset();
    calls += captured == std::string(100, 'c') ? 1 : 100;
  });
  EXPECT_TRUE(loop.RunToEnd());
  EXPECT_EQ(calls, 1);
}

TEST(Timer, CanBeRestartedInItsCallback) {
  TestLoop loop;
  Timer timer;
  std::string calls;
  timer.Start(loop.get(), 0, 1, [&] {
    calls += "first ";
    timer.Start(loop.get(), 0, 0, [&] { calls += "second"; });
  });
  EXPECT_TRUE(loop.RunUntil([&] { return calls.find("second") != std::string::npos; }));
  EXPECT_EQ(calls, "first second");
}

TEST(Timer, NeverFiresOnceItIsGone) {
  TestLoop loop;
  int calls = 0;
  {
    Timer timer;
    timer.Start(loop.get(), 0, 0, [&] { ++calls; });
  }
  loop.RunFor(20);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "supervise/streams/input.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/processes.h"

namespace native_runner {
namespace {

std::vector<std::uint8_t> BytesOf(const std::string& text) {
  return {text.begin(), text.end()};
}

PipeEnds Pipe() {
  auto pipe = MakePipe();
  EXPECT_TRUE(pipe);
  return std::move(*pipe);
}

TEST(Feeder, WritesAllToASlowReaderAndCloses) {
  const std::string all = Pattern((3 << 20) + 17);
  PipeEnds pipe = Pipe();
  std::string got;
  std::thread reader([&pipe, &got] {
    std::array<char, 50'000> part{};
    for (int turn = 0;; ++turn) {
      const ssize_t size = read(pipe.read.get(), part.data(), part.size());
      if (size <= 0) return;  // end of file: the feeder closed its end
      got.append(part.data(), static_cast<std::size_t>(size));
      if (turn % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  {
    TestLoop loop;
    Feeder feeder;
    EXPECT_TRUE(feeder.Start(loop.get(), std::move(pipe.write), BytesOf(all)));
    EXPECT_TRUE(loop.RunToEnd());
  }
  reader.join();
  EXPECT_TRUE(got == all) << got.size();
}

TEST(Feeder, AReaderThatGoesEarlyEndsItQuietly) {
  OnSupervisorLikeThread([] {
    TestLoop loop;
    Feeder feeder;
    PipeEnds pipe = Pipe();
    ASSERT_TRUE(feeder.Start(loop.get(), std::move(pipe.write), BytesOf(Pattern(8 << 20))));
    loop.RunFor(20);  // the pipe is full by now
    std::array<char, 100> part{};
    EXPECT_EQ(read(pipe.read.get(), part.data(), part.size()), 100);
    pipe.read.Close();
    EXPECT_TRUE(loop.RunToEnd(5'000));
  });
}

TEST(Feeder, AReaderThatIsGoneAlreadyEndsItQuietly) {
  OnSupervisorLikeThread([] {
    TestLoop loop;
    Feeder feeder;
    PipeEnds pipe = Pipe();
    pipe.read.Close();
    ASSERT_TRUE(feeder.Start(loop.get(), std::move(pipe.write), BytesOf("abc")));
    EXPECT_TRUE(loop.RunToEnd(5'000));
  });
}

TEST(Feeder, StopsWhileAReaderWaits) {
  TestLoop loop;
  Feeder feeder;
  PipeEnds pipe = Pipe();
  const std::string all = Pattern(4 << 20);
  ASSERT_TRUE(feeder.Start(loop.get(), std::move(pipe.write), BytesOf(all)));
  loop.RunFor(20);
  feeder.Stop();
  feeder.Stop();
  EXPECT_TRUE(loop.RunToEnd(5'000));
  const std::string got = ReadToEnd(pipe.read.get());  // ends: no writer is left
  EXPECT_LT(got.size(), all.size());
  EXPECT_TRUE(got == all.substr(0, got.size()));
}

TEST(Feeder, WithNothingToWriteItJustCloses) {
  TestLoop loop;
  Feeder feeder;
  PipeEnds pipe = Pipe();
  ASSERT_TRUE(feeder.Start(loop.get(), std::move(pipe.write), {}));
  EXPECT_TRUE(loop.RunToEnd(5'000));
  EXPECT_EQ(ReadToEnd(pipe.read.get()), "");
}

}  // namespace
}  // namespace native_runner

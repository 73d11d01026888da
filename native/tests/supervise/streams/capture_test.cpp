#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "supervise/streams/output.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/pattern.h"

namespace native_runner {
namespace {

void WriteFully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

class CaptureTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pipe = MakePipe();
    auto null_device = OpenPath("/dev/null", O_RDWR);
    ASSERT_TRUE(pipe && null_device);
    pipe_ = std::move(*pipe);
    null_device_ = std::move(*null_device);
  }

  bool Start(Capture* capture) {
    return capture->Start(loop_.get(), std::move(pipe_.read), null_device_.get());
  }

  // Writes all from another thread, closes the pipe, and runs the loop to the end of file.
  void Flow(Capture* capture, const std::string& bytes) {
    ASSERT_TRUE(Start(capture));
    std::thread writer([this, &bytes] {
      WriteFully(pipe_.write.get(), bytes);
      pipe_.write.Close();
    });
    EXPECT_TRUE(loop_.RunToEnd());
    writer.join();
  }

  TestLoop loop_;
  PipeEnds pipe_;
  Descriptor null_device_;
};

TEST_F(CaptureTest, ReadsToTheEndOfFile) {
  Capture capture({1 << 20, 0}, nullptr);
  Flow(&capture, "hello");
  EXPECT_EQ(capture.total(), 5u);
  EXPECT_FALSE(capture.truncated());
  EXPECT_EQ(capture.opening(), "hello");
  EXPECT_EQ(Text(capture.Take()), "hello");
}

TEST_F(CaptureTest, AnEmptyStreamIsEmpty) {
  Capture capture({100, 0}, nullptr);
  Flow(&capture, "");
  EXPECT_EQ(capture.total(), 0u);
  EXPECT_EQ(capture.opening(), "");
  EXPECT_EQ(capture.Take().size(), 0u);
}

TEST_F(CaptureTest, KeepsALargeStreamWhole) {
  const std::string all = Pattern((6 << 20) + 321);
  Capture capture({16 << 20, 0}, nullptr);
  Flow(&capture, all);
  EXPECT_EQ(capture.total(), all.size());
  EXPECT_TRUE(Text(capture.Take()) == all);
}

TEST_F(CaptureTest, CountsAFloodExactlyAndKeepsTheHead) {
  const std::string all = Pattern((9 << 20) + 77);
  Capture capture({1000, 0}, nullptr);
  Flow(&capture, all);
  EXPECT_EQ(capture.total(), all.size());
  EXPECT_TRUE(capture.truncated());
  EXPECT_EQ(capture.opening(), std::string_view(all).substr(0, 512));
  EXPECT_TRUE(Text(capture.Take()) == all.substr(0, 1000));
}

TEST_F(CaptureTest, KeepsTheEndsOfAFlood) {
  const std::string all = Pattern((3 << 20) + 5);
  std::string streamed;
  Capture capture({501, 500}, [&streamed](const std::uint8_t* data, std::size_t size) {
    streamed.append(reinterpret_cast<const char*>(data), size);
  });
  Flow(&capture, all);
  EXPECT_EQ(capture.total(), all.size());
  EXPECT_TRUE(streamed == all.substr(0, 1001)) << streamed.size();
  EXPECT_TRUE(Text(capture.Take()) == all.substr(0, 501) + all.substr(all.size() - 500));
}

TEST_F(CaptureTest, ALimitOfZeroKeepsOnlyTheOpening) {
  const std::string all = Pattern((2 << 20) + 9);
  int chunks = 0;
  Capture capture({0, 0}, [&chunks](const std::uint8_t*, std::size_t) { ++chunks; });
  Flow(&capture, all);
  EXPECT_EQ(capture.total(), all.size());
  EXPECT_TRUE(capture.truncated());
  EXPECT_EQ(capture.opening(), std::string_view(all).substr(0, 512));
  EXPECT_EQ(capture.Take().size(), 0u);
  EXPECT_EQ(chunks, 0);
}

TEST_F(CaptureTest, TheOpeningGoesOnBehindTheLimit) {
  for (const std::size_t limit : {0u, 1u, 10u, 511u, 512u, 1'000u}) {
    SetUp();
    const std::string all = Pattern(600);
    Capture capture({limit, 0}, nullptr);
    ASSERT_TRUE(Start(&capture));
    for (std::size_t at = 0; at < all.size(); at += 40) {  // in pieces, as programs complain
      WriteFully(pipe_.write.get(), std::string_view(all).substr(at, 40));
      EXPECT_TRUE(loop_.RunUntil([&] { return capture.total() == at + 40; }));
    }
    capture.Finish();
    EXPECT_TRUE(capture.opening() == std::string_view(all).substr(0, 512)) << limit;
    EXPECT_TRUE(Text(capture.Take()) == all.substr(0, limit)) << limit;
  }
}

TEST_F(CaptureTest, ChunksMakeUpWhatIsKept) {
  for (const std::size_t limit : {1u, 1000u, 65'536u, 300'000u, 1'000'000u}) {
    SetUp();
    const std::string all = Pattern(400'000);
    std::string streamed;
    Capture capture({limit, 0}, [&streamed](const std::uint8_t* data, std::size_t size) {
      ASSERT_GT(size, 0u);
      streamed.append(reinterpret_cast<const char*>(data), size);
    });
    Flow(&capture, all);
    EXPECT_TRUE(streamed == all.substr(0, limit)) << limit;
    EXPECT_TRUE(Text(capture.Take()) == streamed) << limit;
  }
}

TEST_F(CaptureTest, FinishTakesWhatIsLeftAndDoesNotWait) {
  Capture capture({1 << 20, 0}, nullptr);
  ASSERT_TRUE(Start(&capture));
  const std::string all = Pattern(60'000);
  WriteFully(pipe_.write.get(), all);
  capture.Finish();  // a wait for end of file would never end: the pipe is still held
  EXPECT_TRUE(Text(capture.Take()) == all);
  capture.Finish();
}

TEST_F(CaptureTest, FinishCountsWhatIsLeftOverTheLimit) {
  Capture capture({10, 0}, nullptr);
  ASSERT_TRUE(Start(&capture));
  WriteFully(pipe_.write.get(), Pattern(60'000));
  capture.Finish();
  EXPECT_EQ(capture.total(), 60'000u);
  EXPECT_EQ(capture.Take().size(), 10u);
}

// A command may put its end into packet mode (pipe(2), O_DIRECT): reads are short, yet more is
// left.
TEST_F(CaptureTest, FinishTakesAllWhereLittleIsKept) {
  Capture capture({50, 49}, nullptr);
  ASSERT_TRUE(Start(&capture));
  const std::string bytes = Pattern(60'000);
  WriteFully(pipe_.write.get(), bytes);
  capture.Finish();
  EXPECT_EQ(capture.total(), bytes.size());
  EXPECT_EQ(Text(capture.Take()), bytes.substr(0, 50) + bytes.substr(bytes.size() - 49));
}

TEST_F(CaptureTest, FinishTakesAllPackets) {
  Capture capture({1 << 20, 0}, nullptr);
  ASSERT_TRUE(Start(&capture));
  ASSERT_EQ(fcntl(pipe_.write.get(), F_SETFL, O_DIRECT), 0);
  for (const char* packet : {"one ", "two ", "three"})
    WriteFully(pipe_.write.get(), packet);
  capture.Finish();
  EXPECT_EQ(Text(capture.Take()), "one two three");
}

TEST_F(CaptureTest, FinishIsBoundedWhileSomebodyStillWrites) {
  for (const std::size_t limit : {0u, 100u}) {
    SetUp();
    Capture capture({limit, 0}, nullptr);
    ASSERT_TRUE(Start(&capture));
    std::atomic<bool> writing = false;
    std::thread writer([this, &writing] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);  // SIGPIPE is how this ends
      const std::string block(65'536, 'x');
      while (write(pipe_.write.get(), block.data(), block.size()) > 0)
        writing = true;
    });
    while (!writing)
      std::this_thread::yield();
    capture.Finish();
    writer.join();
    EXPECT_GE(capture.total(), 65'536u);
    EXPECT_EQ(capture.Take().size(), limit);
  }
}

TEST_F(CaptureTest, AppendsUnderTheLimit) {
  struct Case {
    KeepRule rule;
    const char* expected;
    bool truncated;
  };
  for (const Case& row :
       {Case{{100, 0}, "12345678abcdef", false}, Case{{14, 0}, "12345678abcdef", false},
        Case{{10, 0}, "12345678ab", true}, Case{{8, 0}, "12345678", true}, Case{{0, 0}, "", true},
        Case{{4, 4}, "1234cdef", true}, Case{{1, 1}, "1f", true}}) {
    SetUp();
    std::string streamed;
    Capture capture(row.rule, [&streamed](const std::uint8_t* data, std::size_t size) {
      streamed.append(reinterpret_cast<const char*>(data), size);
    });
    Flow(&capture, "12345678");
    capture.Append("abcdef");
    EXPECT_EQ(capture.total(), 14u);
    EXPECT_EQ(capture.truncated(), row.truncated);
    EXPECT_EQ(Text(capture.Take()), row.expected);
    EXPECT_EQ(streamed, std::string("12345678abcdef").substr(0, row.rule.head + row.rule.tail));
  }
}

TEST_F(CaptureTest, AppendsWithoutAStream) {
  Capture capture({100, 0}, nullptr);
  capture.Finish();
  capture.Append("reason");
  EXPECT_EQ(capture.opening(), "reason");
  EXPECT_EQ(Text(capture.Take()), "reason");
}

TEST_F(CaptureTest, CanGoWhileItWatches) {
  {
    Capture capture({100, 0}, nullptr);
    ASSERT_TRUE(Start(&capture));
    WriteFully(pipe_.write.get(), "abc");
  }
  EXPECT_TRUE(loop_.RunToEnd());
}

}  // namespace
}  // namespace native_runner

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "supervise/streams/output.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/pattern.h"

namespace native_runner {
namespace {

class LiveOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pipe = MakePipe();
    ASSERT_TRUE(pipe);
    pipe_ = std::move(*pipe);
    ASSERT_NE(fcntl(pipe_.write.get(), F_SETFL, O_NONBLOCK), -1);
  }

  LiveOutput::Chunk Keep() {
    return [this](const std::uint8_t* data, std::size_t size) {
      got_.append(reinterpret_cast<const char*>(data), size);
    };
  }

  // Writes what fits now.
  std::size_t WriteSome(const std::string& text) {
    const ssize_t written = write(pipe_.write.get(), text.data(), text.size());
    return written < 0 ? 0 : static_cast<std::size_t>(written);
  }

  TestLoop loop_;
  PipeEnds pipe_;
  std::string got_;
};

TEST_F(LiveOutputTest, HandsOnAsItComes) {
  LiveOutput output(LiveOutput::kWindowBytes, Keep());
  ASSERT_TRUE(output.Start(loop_.get(), std::move(pipe_.read), -1));
  ASSERT_EQ(WriteSome("one"), 3u);
  EXPECT_TRUE(loop_.RunUntil([this] { return got_ == "one"; }));
  ASSERT_EQ(WriteSome("two"), 3u);
  EXPECT_TRUE(loop_.RunUntil([this] { return got_ == "onetwo"; }));
  EXPECT_EQ(output.total(), 6u);
  EXPECT_EQ(output.opening(), "onetwo");
  EXPECT_FALSE(output.truncated());
  pipe_.write.Close();
  EXPECT_TRUE(loop_.RunToEnd());
  EXPECT_EQ(output.Take().size(), 0u);
}

TEST_F(LiveOutputTest, StopsAtItsWindowUntilMoreIsGranted) {
  LiveOutput output(1000, Keep());
  ASSERT_TRUE(output.Start(loop_.get(), std::move(pipe_.read), -1));
  const std::string all = Pattern(5000);
  ASSERT_EQ(WriteSome(all), 5000u);
  loop_.RunFor(50);
  EXPECT_EQ(got_.size(), 1000u);
  output.Grant(1500);
  loop_.RunFor(50);
  EXPECT_EQ(got_.size(), 2500u);
  output.Grant(0);
  loop_.RunFor(20);
  EXPECT_EQ(got_.size(), 2500u);
  output.Grant(UINT64_MAX);  // as much as a window at most
  EXPECT_TRUE(loop_.RunUntil([this] { return got_.size() == 5000; }));
  EXPECT_EQ(got_, all);
  output.Close();
}

TEST_F(LiveOutputTest, AWriterIsHeldUpByAReaderThatIsNot) {
  LiveOutput output(LiveOutput::kWindowBytes, Keep());
  ASSERT_TRUE(output.Start(loop_.get(), std::move(pipe_.read), -1));
  const std::string part = Pattern(60'000);
  std::size_t written = 0;
  for (int turn = 0; turn < 100; ++turn) {
    written += WriteSome(part);
    loop_.RunFor(1);
  }
  EXPECT_EQ(got_.size(), LiveOutput::kWindowBytes);
  EXPECT_LT(written, LiveOutput::kWindowBytes + (std::size_t{1} << 20U));
  output.Finish();  // and then all that the pipe holds
  EXPECT_EQ(got_.size(), written);
  EXPECT_EQ(output.total(), written);
}

TEST_F(LiveOutputTest, FinishDoesNotWaitForAWriterAndIsBounded) {
  LiveOutput output(LiveOutput::kWindowBytes, Keep());
  ASSERT_TRUE(output.Start(loop_.get(), std::move(pipe_.read), -1));
  ASSERT_EQ(WriteSome("last words"), 10u);
  output.Finish();
  EXPECT_EQ(got_, "last words");

  output.Finish();
  output.Append("and ours");
  EXPECT_EQ(got_, "last wordsand ours");
  EXPECT_EQ(output.total(), 18u);
}

TEST_F(LiveOutputTest, CloseIsSeenByTheWriter) {
  OnSupervisorLikeThread([this] {
    LiveOutput output(LiveOutput::kWindowBytes, Keep());
    ASSERT_TRUE(output.Start(loop_.get(), std::move(pipe_.read), -1));
    output.Close();
    EXPECT_EQ(write(pipe_.write.get(), "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    output.Grant(1);  // too late: nothing is watched
    EXPECT_TRUE(loop_.RunToEnd());
  });
}

TEST_F(LiveOutputTest, WithoutAWindowThereIsNoEnd) {
  LiveOutput output(LiveOutput::kNoWindow, Keep());
  ASSERT_TRUE(output.Start(loop_.get(), std::move(pipe_.read), -1));
  const std::string part = Pattern(60'000);
  std::size_t written = 0;
  while (written < 4 * LiveOutput::kWindowBytes) {
    written += WriteSome(part);
    loop_.RunFor(1);
  }
  EXPECT_TRUE(loop_.RunUntil([&] { return got_.size() == written; }));
  output.Grant(5);
  output.Close();
}

}  // namespace
}  // namespace native_runner

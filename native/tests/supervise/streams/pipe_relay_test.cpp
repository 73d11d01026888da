#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervise/os/descriptor.h"
#include "supervise/streams/input.h"
#include "supervise/streams/output.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/pattern.h"

namespace native_runner {
namespace {

class PipeRelayTest : public testing::Test {
 protected:
  void SetUp() override {
    for (PipeEnds* pipe : {&from_, &to_}) {
      auto made = MakePipe();
      ASSERT_TRUE(made);
      *pipe = std::move(*made);
    }
    ASSERT_NE(fcntl(from_.write.get(), F_SETFL, O_NONBLOCK), -1);
    ASSERT_NE(fcntl(to_.read.get(), F_SETFL, O_NONBLOCK), -1);
  }

  void Start() {
    relay_.Start(loop_.get(), from_.read.get(), to_.write.get(),
                 [this](PipeRelay::End end) { end_ = end; });
  }

  // Writes what fits, and returns the number of bytes.
  std::size_t WriteSome(std::string_view text) {
    const ssize_t written = write(from_.write.get(), text.data(), text.size());
    return written < 0 ? 0 : static_cast<std::size_t>(written);
  }

  void ReadSome() {
    std::string piece(std::size_t{64} << 10U, '\0');
    const ssize_t got = read(to_.read.get(), piece.data(), piece.size());
    if (got > 0) got_.append(piece, 0, static_cast<std::size_t>(got));
  }

  TestLoop loop_;
  PipeEnds from_;
  PipeEnds to_;
  PipeRelay relay_;
  std::string got_;
  std::optional<PipeRelay::End> end_;
};

TEST_F(PipeRelayTest, MovesAllInOrderHoweverSlowItIsRead) {
  Start();
  const std::string all = Pattern(std::size_t{5} << 20U);
  std::size_t written = 0;
  EXPECT_TRUE(loop_.RunUntil([&] {
    written += WriteSome(std::string_view(all).substr(written));
    if (written == all.size()) from_.write.Close();
    ReadSome();
    return end_ && got_.size() == all.size();
  }));
  EXPECT_EQ(got_, all);
  EXPECT_EQ(end_, PipeRelay::End::kSource);
  EXPECT_EQ(relay_.total(), all.size());
}

TEST_F(PipeRelayTest, HoldsTheWriterUpWhileNothingIsRead) {
  Start();
  const std::string piece = Pattern(std::size_t{64} << 10U);
  std::size_t written = 0;
  for (int turn = 0; turn < 100; ++turn) {
    written += WriteSome(piece);
    loop_.RunFor(1);
  }
  EXPECT_EQ(WriteSome(piece), 0u);
  EXPECT_LE(written, std::size_t{2} << 20U) << "as much as two pipes hold";
  EXPECT_FALSE(end_);
  EXPECT_TRUE(loop_.RunUntil([&] {
    ReadSome();
    return got_.size() == written;
  }));
}

TEST_F(PipeRelayTest, DoesNotSpinWhileNeitherSideIsReady) {
  Start();
  ASSERT_EQ(WriteSome("x"), 1u);
  EXPECT_TRUE(loop_.RunUntil([&] {
    ReadSome();
    return got_ == "x";
  }));
  pollfd backend = {.fd = uv_backend_fd(loop_.get()), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&backend, 1, 0), 0) << "nothing is left to be handled";
  relay_.Stop();
}

TEST_F(PipeRelayTest, TellsThatTheReaderIsGone) {
  OnSupervisorLikeThread([this] {
    Start();
    to_.read.Close();
    ASSERT_EQ(WriteSome("lost"), 4u);
    EXPECT_TRUE(loop_.RunUntil([this] { return end_.has_value(); }));
    EXPECT_EQ(end_, PipeRelay::End::kSink);
  });
}

TEST_F(PipeRelayTest, TellsThatTheReaderWentWhileThePipeWasFull) {
  OnSupervisorLikeThread([this] {
    Start();
    const std::string piece = Pattern(std::size_t{64} << 10U);
    for (int turn = 0; turn < 100; ++turn) {
      WriteSome(piece);
      loop_.RunFor(1);
    }
    to_.read.Close();
    EXPECT_TRUE(loop_.RunUntil([this] { return end_.has_value(); }));
    EXPECT_EQ(end_, PipeRelay::End::kSink);
  });
}

TEST_F(PipeRelayTest, FailsWhereNeitherIsAPipeAndLosesNothing) {
  const Descriptor file(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const Descriptor sink(open("/dev/full", O_WRONLY | O_CLOEXEC));
  relay_.Start(loop_.get(), file.get(), sink.get(), [this](PipeRelay::End end) { end_ = end; });
  EXPECT_TRUE(loop_.RunUntil([this] { return end_.has_value(); }));
  EXPECT_EQ(end_, PipeRelay::End::kFailed);
  EXPECT_EQ(relay_.total(), 0u);
}

TEST_F(PipeRelayTest, OfALiveOutputLeavesTheRestToItsChunks) {
  std::string chunks;
  LiveOutput output(
      LiveOutput::kWindowBytes,
      [&chunks](const std::uint8_t* data, std::size_t size) {
        chunks.append(reinterpret_cast<const char*>(data), size);
      },
      to_.write.get());
  ASSERT_TRUE(output.Start(loop_.get(), std::move(from_.read), -1));
  const std::string piece = Pattern(std::size_t{64} << 10U);
  std::string all;
  for (int turn = 0; turn < 100; ++turn) {
    all += piece.substr(0, WriteSome(piece));
    loop_.RunFor(1);
  }
  from_.write.Close();
  EXPECT_EQ(chunks, "");
  output.Finish();
  EXPECT_NE(chunks, "") << "what the full pipe did not take";
  while (got_.size() + chunks.size() < all.size()) {
    const std::size_t before = got_.size();
    ReadSome();
    ASSERT_NE(got_.size(), before);
  }
  EXPECT_EQ(got_ + chunks, all);
  EXPECT_EQ(output.total(), all.size());
}

TEST_F(PipeRelayTest, OfALiveOutputWhoseSinkIsNoPipeIsAsWithout) {
  const Descriptor file(open("/dev/zero", O_RDONLY | O_CLOEXEC));  // can't be written
  std::string chunks;
  LiveOutput output(
      LiveOutput::kWindowBytes,
      [&chunks](const std::uint8_t* data, std::size_t size) {
        chunks.append(reinterpret_cast<const char*>(data), size);
      },
      file.get());
  ASSERT_TRUE(output.Start(loop_.get(), std::move(from_.read), -1));
  ASSERT_EQ(WriteSome("text"), 4u);
  EXPECT_TRUE(loop_.RunUntil([&chunks] { return chunks == "text"; }));
  output.Finish();
}

TEST_F(PipeRelayTest, OfALiveInputEndsItWithItsSource) {
  int answers = 0;
  LiveInput input([&answers](bool) { ++answers; }, from_.read.get());
  input.Start(loop_.get(), std::move(to_.write));
  ASSERT_EQ(WriteSome("input"), 5u);
  from_.write.Close();
  EXPECT_TRUE(loop_.RunUntil([this] {
    ReadSome();
    pollfd end = {.fd = to_.read.get(), .events = 0, .revents = 0};
    return poll(&end, 1, 0) == 1;  // a hang-up
  }));
  EXPECT_EQ(got_, "input");
  EXPECT_EQ(answers, 0);
  input.Stop();
}

}  // namespace
}  // namespace native_runner

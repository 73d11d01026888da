#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "supervise/streams/input.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/processes.h"

namespace native_runner {
namespace live_input_test {

std::vector<std::uint8_t> BytesOf(const std::string& text) {
  return {text.begin(), text.end()};
}

class LiveInputTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pipe = MakePipe();
    ASSERT_TRUE(pipe);
    pipe_ = std::move(*pipe);
  }

  std::string ReadSome(std::size_t bytes) {
    std::string text(bytes, '\0');
    const ssize_t got = read(pipe_.read.get(), text.data(), bytes);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }

  TestLoop loop_;
  PipeEnds pipe_;
  std::vector<bool> taken_;
  LiveInput input_{[this](bool taken) { taken_.push_back(taken); }};
};

TEST_F(LiveInputTest, WritesWhatIsGivenAndTellsSo) {
  input_.Start(loop_.get(), std::move(pipe_.write));
  input_.Write(BytesOf("one"));
  input_.Write(BytesOf("two"));
  EXPECT_EQ(taken_, std::vector<bool>({true, true}));
  EXPECT_EQ(ReadSome(10), "onetwo");
  input_.End();
  EXPECT_EQ(taken_, std::vector<bool>({true, true, true}));
  EXPECT_EQ(ReadSome(10), "");
  input_.End();
  input_.Write(BytesOf("late"));
  EXPECT_EQ(taken_, std::vector<bool>({true, true, true, false, false}));
}

TEST_F(LiveInputTest, WaitsForASlowReader) {
  const std::string all = Pattern((3 << 20) + 17);
  input_.Start(loop_.get(), std::move(pipe_.write));
  input_.Write(BytesOf(all));
  loop_.RunFor(30);
  EXPECT_TRUE(taken_.empty());
  std::string got;
  std::thread reader([&] { got = ReadToEnd(pipe_.read.get()); });
  EXPECT_TRUE(loop_.RunUntil([this] { return !taken_.empty(); }));
  input_.End();
  reader.join();
  EXPECT_TRUE(got == all) << got.size();
  EXPECT_EQ(taken_, std::vector<bool>({true, true}));
}

TEST_F(LiveInputTest, AReaderThatGoesIsTold) {
  OnSupervisorLikeThread([this] {
    input_.Start(loop_.get(), std::move(pipe_.write));
    input_.Write(BytesOf(Pattern(4 << 20)));
    loop_.RunFor(20);
    pipe_.read.Close();
    EXPECT_TRUE(loop_.RunUntil([this] { return !taken_.empty(); }));
    EXPECT_EQ(taken_, std::vector<bool>({false}));
    input_.Write(BytesOf("more"));
    EXPECT_EQ(taken_, std::vector<bool>({false, false}));
    EXPECT_TRUE(loop_.RunToEnd());
  });
}

TEST_F(LiveInputTest, WhatIsBeingWrittenAtTheEndIsToldToBeLost) {
  input_.Start(loop_.get(), std::move(pipe_.write));
  input_.Write(BytesOf(Pattern(4 << 20)));
  loop_.RunFor(20);
  input_.Stop();
  input_.Stop();
  EXPECT_EQ(taken_, std::vector<bool>({false}));
  EXPECT_TRUE(loop_.RunToEnd());
}

}  // namespace live_input_test
}  // namespace native_runner

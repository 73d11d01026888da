#include "supervise/sandbox/port_waits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "tests/supervise/support/loop.h"

namespace native_runner {
namespace {

class PortWaitsTest : public testing::Test {
 protected:
  PortWait Wait(std::uint64_t id) {
    return {.id = id, .run = 7, .port = 80, .interval_ms = 5, .timeout_ms = std::nullopt};
  }
  bool HasEnded(std::uint64_t id) const { return ended_.contains(id); }

  TestLoop loop_;
  PortState state_ = PortState::kSilent;
  int looks_ = 0;
  std::map<std::uint64_t, int> looked_for_;
  std::chrono::milliseconds look_takes_{0};
  std::map<std::uint64_t, PortState> ended_;
  PortWaits waits_{[this](const PortWait& wait) {
                     ++looks_;
                     ++looked_for_[wait.id];
                     std::this_thread::sleep_for(look_takes_);
                     return state_;
                   },
                   [this](std::uint64_t id, PortState state) {
                     EXPECT_TRUE(ended_.emplace(id, state).second) << "it ended twice";
                   }};
};

TEST_F(PortWaitsTest, LooksUntilSomethingListens) {
  waits_.Add(loop_.get(), Wait(1));
  ASSERT_TRUE(loop_.RunUntil([this] { return looks_ >= 3; }));
  EXPECT_FALSE(HasEnded(1));
  state_ = PortState::kListening;
  ASSERT_TRUE(loop_.RunUntil([this] { return HasEnded(1); }));
  EXPECT_EQ(ended_[1], PortState::kListening);
  const int looks = looks_;
  loop_.RunFor(30);
  EXPECT_EQ(looks_, looks);
}

TEST_F(PortWaitsTest, EndAtTheirTimeAndNotBefore) {
  PortWait wait = Wait(1);
  wait.timeout_ms = 60;
  const auto start = uv_hrtime();
  waits_.Add(loop_.get(), wait);
  ASSERT_TRUE(loop_.RunUntil([this] { return HasEnded(1); }));
  EXPECT_EQ(ended_[1], PortState::kTimedOut);
  EXPECT_GE((uv_hrtime() - start) / 1'000'000, 59u);
}

TEST_F(PortWaitsTest, LookAtTheLastMomentWhateverTheInterval) {
  PortWait wait = Wait(1);
  wait.interval_ms = 60'000;
  wait.timeout_ms = 50;
  waits_.Add(loop_.get(), wait);
  ASSERT_TRUE(loop_.RunUntil([this] { return looks_ == 1; }));
  state_ = PortState::kListening;
  ASSERT_TRUE(loop_.RunUntil([this] { return HasEnded(1); }));
  EXPECT_EQ(ended_[1], PortState::kListening);
}

TEST_F(PortWaitsTest, TakeTurns) {
  waits_.Add(loop_.get(), Wait(1));
  waits_.Add(loop_.get(), Wait(2));
  waits_.Add(loop_.get(), Wait(3));
  ASSERT_TRUE(loop_.RunUntil([this] { return looks_ >= 9; }));
  for (std::uint64_t id = 1; id <= 3; ++id)
    EXPECT_GE(looked_for_[id], 2) << id;
  waits_.EndAll();
}

TEST_F(PortWaitsTest, LeaveTheThreadToOthersHoweverLongALookTakes) {
  look_takes_ = std::chrono::milliseconds(10);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    PortWait wait = Wait(id);
    wait.interval_ms = 1;
    waits_.Add(loop_.get(), wait);
  }
  loop_.RunFor(500);
  EXPECT_GE(looks_, 2);
  EXPECT_LE(looks_, 11);  // a fifth of the time, and one more
  waits_.EndAll();
}

TEST_F(PortWaitsTest, AreStoppedOneByOne) {
  waits_.Add(loop_.get(), Wait(1));
  waits_.Add(loop_.get(), Wait(2));
  waits_.Stop(1);
  waits_.Stop(1);
  EXPECT_EQ(ended_, (std::map<std::uint64_t, PortState>{{1, PortState::kStopped}}));
  waits_.EndAll();
  EXPECT_EQ(ended_[2], PortState::kGone);
}

TEST_F(PortWaitsTest, EndWithTheirRunOrSession) {
  waits_.Add(loop_.get(), Wait(1));
  PortWait other = Wait(2);
  other.run = 0;
  other.session = 7;
  waits_.Add(loop_.get(), other);
  waits_.RunEnds(8);
  EXPECT_TRUE(ended_.empty());
  waits_.RunEnds(7);
  EXPECT_EQ(ended_, (std::map<std::uint64_t, PortState>{{1, PortState::kGone}}));
  waits_.SessionEnds(7);
  EXPECT_EQ(ended_[2], PortState::kGone);
}

}  // namespace
}  // namespace native_runner

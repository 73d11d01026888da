#include <gtest/gtest.h>

#include <limits>

#include "policy/run/outcome.h"

namespace native_runner {
namespace {

std::uint64_t Sum(const Timing& timing) {
  return timing.queue_us + timing.setup_us + timing.command_us + timing.teardown_us;
}

void ExpectParts(const RunTimestamps& moments, const Timing& expected) {
  const Timing timing = TimingOf(moments);
  EXPECT_EQ(timing.queue_us, expected.queue_us);
  EXPECT_EQ(timing.setup_us, expected.setup_us);
  EXPECT_EQ(timing.command_us, expected.command_us);
  EXPECT_EQ(timing.teardown_us, expected.teardown_us);
}

TEST(TimingTest, TheUsualRun) {
  ExpectParts({1'000, 3'000, 10'000, 50'000, 0, 56'000}, {2, 7, 40, 6});
}

TEST(TimingTest, ARunThatWasEndedIsTornDownFromThenOn) {
  ExpectParts({1'000, 3'000, 10'000, 50'000, 40'000, 56'000}, {2, 7, 30, 16});
  ExpectParts({1'000, 3'000, 10'000, 0, 40'000, 56'000}, {2, 7, 30, 16});
}

TEST(TimingTest, ACommandThatEndedBeforeItsEndWasAskedFor) {
  ExpectParts({1'000, 3'000, 10'000, 39'000, 40'000, 56'000}, {2, 7, 29, 17});
}

TEST(TimingTest, WithoutACommandThereIsSetUpOnly) {
  ExpectParts({1'000, 3'000, 0, 0, 0, 56'000}, {2, 53, 0, 0});
  ExpectParts({1'000, 3'000, 0, 50'000, 0, 56'000}, {2, 47, 0, 6});  // refused
  ExpectParts({1'000, 3'000, 0, 0, 40'000, 56'000}, {2, 37, 0, 16});
}

TEST(TimingTest, AnEndThatWasAskedForDuringSetUp) {
  ExpectParts({1'000, 3'000, 10'000, 12'000, 9'000, 56'000}, {2, 6, 0, 47});
}

TEST(TimingTest, NobodyKnowsWhenTheCommandEnded) {
  ExpectParts({1'000, 3'000, 10'000, 0, 0, 56'000}, {2, 7, 46, 0});
}

TEST(TimingTest, ARunThatNeverStartedHasOnlyWaited) {
  ExpectParts({1'000, 0, 0, 0, 0, 56'000}, {55, 0, 0, 0});
  ExpectParts({0, 0, 0, 0, 0, 56'000}, {0, 0, 0, 0});
}

TEST(TimingTest, ARunThatDidNotWait) {
  ExpectParts({0, 3'000, 10'000, 50'000, 0, 56'000}, {0, 7, 40, 6});
}

TEST(TimingTest, TheSumIsTheWholeWhateverIsClaimed) {
  constexpr std::uint64_t kMoments[] = {
      0, 1, 999, 5'001, 7'777, 123'456, std::numeric_limits<std::uint64_t>::max()};
  for (const std::uint64_t ready : kMoments) {
    for (const std::uint64_t command_ended : kMoments) {
      for (const std::uint64_t kill_asked : kMoments) {
        const Timing timing = TimingOf({1'500, 2'700, ready, command_ended, kill_asked, 100'999});
        EXPECT_EQ(Sum(timing), 99u) << ready << " " << command_ended << " " << kill_asked;
        EXPECT_EQ(timing.queue_us, 1u);
      }
    }
  }
}

TEST(TimingTest, MomentsInTheWrongOrderMakeNothingNegative) {
  const Timing timing = TimingOf({9'000, 8'000, 7'000, 6'000, 5'000, 4'000});
  EXPECT_EQ(Sum(timing), 0u);
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include "policy/transaction/file_systems.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(FileTimesTest, FineTimesAreComparedAsTheyAre) {
  EXPECT_TRUE(MayBeSince(7 * kSecond + 5, 7 * kSecond + 5));
  EXPECT_TRUE(MayBeSince(7 * kSecond + 6, 7 * kSecond + 5));
  EXPECT_FALSE(MayBeSince(7 * kSecond + 4, 7 * kSecond + 5));
}

TEST(FileTimesTest, OfWholeSecondsEachMomentOfTheTickCounts) {
  EXPECT_TRUE(MayBeSince(8 * kSecond, 9 * kSecond + 999'999'999)) << "FAT has every second one";
  EXPECT_TRUE(MayBeSince(9 * kSecond, 9 * kSecond + 5));
  EXPECT_FALSE(MayBeSince(9 * kSecond, 10 * kSecond));
  EXPECT_FALSE(MayBeSince(7 * kSecond, 8 * kSecond + 1));
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "policy/options/request.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

TEST(Lease, HoldsForItsTerm) {
  const Lease lease(5, 100);
  EXPECT_EQ(lease.term_ms(), 5u);
  EXPECT_EQ(lease.until_ns(), 100 + 5 * kMillisecond);
  EXPECT_FALSE(lease.HasEnded(100));
  EXPECT_FALSE(lease.HasEnded(99 + 5 * kMillisecond));
  EXPECT_TRUE(lease.HasEnded(100 + 5 * kMillisecond));
}

TEST(Lease, IsRenewedForAnotherTerm) {
  Lease lease(5, 0);
  EXPECT_TRUE(lease.Renew(4 * kMillisecond));
  EXPECT_EQ(lease.until_ns(), 9 * kMillisecond);
  EXPECT_TRUE(lease.Renew(9 * kMillisecond - 1));
  EXPECT_FALSE(lease.HasEnded(14 * kMillisecond - 2));
}

TEST(Lease, StaysEnded) {
  Lease lease(5, 0);
  for (const std::uint64_t now : {5 * kMillisecond, 6 * kMillisecond, 500 * kMillisecond}) {
    EXPECT_FALSE(lease.Renew(now));
    EXPECT_TRUE(lease.HasEnded(now));
    EXPECT_EQ(lease.until_ns(), 5 * kMillisecond);
  }
}

// Two threads look at the clock, and the one that has looked first is the last to say so.
TEST(Lease, NeverGetsShorter) {
  Lease lease(5, 0);
  EXPECT_TRUE(lease.Renew(3 * kMillisecond));
  EXPECT_TRUE(lease.Renew(2 * kMillisecond));
  EXPECT_EQ(lease.until_ns(), 8 * kMillisecond);
}

TEST(Lease, HasRoomForTheLongestTerm) {
  Lease lease(Lease::kMostMs, 0);
  constexpr std::uint64_t kTenYears = std::uint64_t{10} * 365 * 86'400 * 1'000'000'000;
  EXPECT_EQ(lease.until_ns(), Lease::kMostMs * kMillisecond);
  EXPECT_GT(Lease(Lease::kMostMs, kTenYears).until_ns(), kTenYears);
}

TEST(Lease, IsForAllThreads) {
  Lease lease(5, 0);
  std::vector<std::thread> threads;
  for (std::uint64_t first = 0; first < 4; ++first) {
    threads.emplace_back([&lease, first] {
      for (std::uint64_t now = first; now < 4 * kMillisecond; now += 1000)
        EXPECT_TRUE(lease.Renew(now));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_GE(lease.until_ns(), 9 * kMillisecond - 1000);
  EXPECT_LE(lease.until_ns(), 9 * kMillisecond);
}

}  // namespace
}  // namespace native_runner

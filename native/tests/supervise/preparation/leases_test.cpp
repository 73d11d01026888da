#include "supervise/preparation/leases.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/supervise/support/loop.h"

namespace native_runner {
namespace {

class Recorded final : public Leases::Holder {
 public:
  void OnLeaseRenewed(std::uint64_t until_ns) override { renewed.push_back(until_ns); }
  void OnLeaseEnded() override {
    ++ended;
    if (on_end) on_end();
  }

  std::vector<std::uint64_t> renewed;
  int ended = 0;
  std::function<void()> on_end;
};

class LeasesTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kLong = 600'000;

  static std::shared_ptr<Lease> Make(std::uint64_t term_ms) {
    return std::make_shared<Lease>(term_ms, LeaseNow());
  }
  bool Join(const std::shared_ptr<Lease>& lease, Leases::Holder* holder) {
    return leases_.Join(loop_.get(), lease, holder);
  }

  TestLoop loop_;
  Leases leases_;
};

TEST_F(LeasesTest, ReportEndToHolders) {
  const auto lease = Make(100);
  Recorded one;
  Recorded other;
  ASSERT_TRUE(Join(lease, &one));
  ASSERT_TRUE(Join(lease, &other));
  EXPECT_TRUE(loop_.RunUntil([&] { return one.ended + other.ended == 2; }));
  EXPECT_TRUE(lease->HasEnded(LeaseNow()));
  EXPECT_TRUE(loop_.RunToEnd());
  EXPECT_EQ(one.ended, 1);
  EXPECT_EQ(other.ended, 1);
}

TEST_F(LeasesTest, NothingOfOneThatWasRenewedMeanwhile) {
  const auto lease = Make(150);
  const auto other = Make(500);
  Recorded kept;
  Recorded clock;
  ASSERT_TRUE(Join(lease, &kept));
  ASSERT_TRUE(Join(other, &clock));
  Timer beat;
  beat.Start(loop_.get(), 0, 10, [&] { static_cast<void>(lease->Renew(LeaseNow())); });
  EXPECT_TRUE(loop_.RunUntil([&] { return clock.ended == 1; }));
  EXPECT_EQ(kept.ended, 0);
  beat.Stop();
  EXPECT_TRUE(loop_.RunUntil([&] { return kept.ended == 1; }));
}

TEST_F(LeasesTest, AreNotHeldOnceTheyHaveEnded) {
  const auto lease = std::make_shared<Lease>(1, LeaseNow() - 2'000'000);
  Recorded holder;
  EXPECT_FALSE(Join(lease, &holder));
  EXPECT_TRUE(loop_.RunToEnd());
  EXPECT_EQ(holder.ended, 0);
}

TEST_F(LeasesTest, ReportRenewalToHolders) {
  const auto lease = Make(kLong);
  const auto other = Make(kLong);
  Recorded one;
  Recorded two;
  Recorded none;
  ASSERT_TRUE(Join(lease, &one) && Join(lease, &two) && Join(other, &none));
  ASSERT_TRUE(lease->Renew(LeaseNow()));
  leases_.NoteRenewed(lease);
  EXPECT_EQ(one.renewed, std::vector{lease->until_ns()});
  EXPECT_EQ(two.renewed, std::vector{lease->until_ns()});
  EXPECT_TRUE(none.renewed.empty());
  leases_.Leave(lease, &one);
  leases_.Leave(lease, &one);
  leases_.NoteRenewed(lease);
  EXPECT_EQ(one.renewed.size(), 1u);
  EXPECT_EQ(two.renewed.size(), 2u);
  leases_.Leave(lease, &two);
  leases_.NoteRenewed(lease);
  leases_.Leave(other, &none);
  EXPECT_TRUE(loop_.RunToEnd());
}

TEST_F(LeasesTest, TheEndOfOneHolderMayBeThatOfOthers) {
  const auto lease = Make(50);
  Recorded one;
  Recorded other;
  one.on_end = [&] { leases_.Leave(lease, &other); };
  other.on_end = [&] { leases_.Leave(lease, &one); };
  ASSERT_TRUE(Join(lease, &one) && Join(lease, &other));
  EXPECT_TRUE(loop_.RunUntil([&] { return one.ended + other.ended > 0; }));
  EXPECT_TRUE(loop_.RunToEnd());
  EXPECT_EQ(one.ended + other.ended, 1);
}

}  // namespace
}  // namespace native_runner

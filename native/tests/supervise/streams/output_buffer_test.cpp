#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "supervise/streams/output.h"
#include "tests/supervise/support/pattern.h"

namespace native_runner {
namespace {

constexpr std::size_t kAny = SIZE_MAX;

// A model of the buffer, as simple as possible.
std::string Model(const KeepRule& rule, const std::string& all) {
  if (all.size() <= rule.head + rule.tail) return all;
  return all.substr(0, rule.head) + all.substr(all.size() - rule.tail);
}

// Offers `bytes` as a reader would, at most `at_once` a time.
void Feed(OutputBuffer* buffer, std::string_view bytes, std::size_t at_once = kAny) {
  while (!bytes.empty()) {
    const auto [space, room] = buffer->Space();
    if (room == 0) return buffer->Skip(bytes.size());
    const std::size_t count = std::min({room, bytes.size(), at_once});
    std::memcpy(space, bytes.data(), count);
    buffer->Commit(count);
    bytes.remove_prefix(count);
  }
}

void ExpectLikeModel(const KeepRule& rule, const std::string& all, std::size_t at_once) {
  OutputBuffer buffer(rule);
  Feed(&buffer, all, at_once);
  const std::uint64_t limit = rule.head + rule.tail;
  EXPECT_EQ(buffer.total(), all.size());
  EXPECT_EQ(buffer.truncated(), all.size() > limit);
  EXPECT_EQ(buffer.full(), all.size() >= limit);
  // Not EXPECT_EQ on the bytes: a failure would print megabytes.
  EXPECT_TRUE(Text(buffer.Take()) == Model(rule, all))
      << "head " << rule.head << ", tail " << rule.tail << ", size " << all.size() << ", at once "
      << at_once;
}

TEST(OutputBuffer, KeepsEitherSideOfEveryLimit) {
  for (const Keep keep : {Keep::kHead, Keep::kHeadTail}) {
    for (const std::size_t limit : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 255u}) {
      for (std::size_t size = limit > 2 ? limit - 2 : 0; size < 3 * limit + 4; ++size) {
        const std::string all = Pattern(size);
        for (const std::size_t at_once : {std::size_t{1}, std::size_t{3}, kAny}) {
          ExpectLikeModel(KeepRuleFor(limit, keep), all, at_once);
        }
      }
    }
  }
}

TEST(OutputBuffer, KeepsEitherSideOfItsOwnSteps) {
  constexpr std::size_t kStep = 16 << 10;
  for (const Keep keep : {Keep::kHead, Keep::kHeadTail}) {
    for (const std::size_t step : {kStep, 4 * kStep, 16 * kStep}) {
      for (const std::size_t limit : {step - 1, step, step + 1}) {
        for (const std::size_t size : {limit - 1, limit, limit + 1, 2 * limit, 3 * limit + 1}) {
          ExpectLikeModel(KeepRuleFor(limit, keep), Pattern(size), kAny);
        }
      }
    }
  }
}

TEST(OutputBuffer, AgreesWithTheModelOnRandomSizes) {
  std::mt19937 random(1);
  const auto below = [&random](std::size_t end) { return random() % end; };
  const std::string all = Pattern(400'000);
  for (int round = 0; round < 300; ++round) {
    const std::size_t largest = std::size_t{1} << below(18);
    KeepRule rule{below(largest + 1), below(largest + 1)};
    if (round % 3 == 0) rule = KeepRuleFor(below(largest + 1), Keep::kHeadTail);
    OutputBuffer buffer(rule);
    std::size_t fed = 0;
    const std::size_t size = below(std::min(4 * largest + 2, all.size()));
    while (fed < size) {
      const std::size_t count = std::min(1 + below(largest), size - fed);
      Feed(&buffer, std::string_view(all).substr(fed, count), 1 + below(largest));
      fed += count;
      ASSERT_EQ(buffer.total(), fed);
    }
    ASSERT_TRUE(Text(buffer.Take()) == Model(rule, all.substr(0, size)))
        << "head " << rule.head << ", tail " << rule.tail << ", size " << size;
  }
}

TEST(OutputBuffer, OffersNeverMoreThanTheLimit) {
  OutputBuffer buffer({100, 0});
  EXPECT_EQ(buffer.Space().second, 100u);
  buffer.Commit(99);
  EXPECT_EQ(buffer.Space().second, 1u);
  EXPECT_FALSE(buffer.full());
  buffer.Commit(1);
  EXPECT_TRUE(buffer.full());
  EXPECT_FALSE(buffer.truncated());
  EXPECT_EQ(buffer.Space().second, 0u);
}

TEST(OutputBuffer, ALimitOfZeroOnlyCounts) {
  OutputBuffer buffer({0, 0});
  EXPECT_EQ(buffer.Space().second, 0u);
  EXPECT_TRUE(buffer.full());
  EXPECT_FALSE(buffer.truncated());
  buffer.Skip(7);
  EXPECT_TRUE(buffer.truncated());
  EXPECT_EQ(buffer.total(), 7u);
  EXPECT_EQ(buffer.Take().size(), 0u);
}

TEST(OutputBuffer, CountsPastFourGigabytes) {
  OutputBuffer buffer({1, 0});
  Feed(&buffer, "a");
  buffer.Skip(std::uint64_t{5} << 32U);
  EXPECT_EQ(buffer.total(), (std::uint64_t{5} << 32U) + 1);
}

TEST(OutputBuffer, LargeOnesAreMappedAndKeepTheirBytes) {
  constexpr std::size_t kSmall = 64 << 10;
  OutputBuffer small({64 << 20, 0});
  Feed(&small, Pattern(kSmall), 1000);
  EXPECT_FALSE(small.Take().mapped());

  OutputBuffer large({64 << 20, 0});
  const std::string all = Pattern((5 << 20) + 1);
  Feed(&large, all, 65'536);
  const Bytes bytes = large.Take();
  EXPECT_TRUE(bytes.mapped());
  EXPECT_TRUE(Text(bytes) == all);
}

TEST(OutputBuffer, AHugeLimitCostsNothingUntilItIsUsed) {
  OutputBuffer buffer(KeepRuleFor(UINT64_MAX / 2, Keep::kHeadTail));
  Feed(&buffer, "abc");
  EXPECT_EQ(Text(buffer.Take()), "abc");
}

TEST(OutputBuffer, IsEmptyOnceTaken) {
  OutputBuffer buffer({10, 0});
  Feed(&buffer, "abc");
  EXPECT_EQ(Text(buffer.Take()), "abc");
  EXPECT_EQ(buffer.Take().size(), 0u);
  EXPECT_EQ(buffer.total(), 3u);
}

TEST(BytesTest, ChangeHands) {
  for (const std::size_t size : {std::size_t{5}, std::size_t{200'000}}) {
    const std::string all = Pattern(size);
    OutputBuffer buffer({size, 0});
    Feed(&buffer, all);
    Bytes first = buffer.Take();
    const std::uint8_t* data = first.data();
    Bytes second(std::move(first));
    EXPECT_EQ(first.size(), 0u);  // NOLINT(bugprone-use-after-move): that is the promise
    EXPECT_EQ(second.data(), data);
    Bytes third;
    third = std::move(second);
    Bytes& same = third;
    third = std::move(same);
    EXPECT_TRUE(Text(third) == all);
    third = Bytes();
    EXPECT_EQ(third.data(), nullptr);
  }
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include "policy/run/outcome.h"

namespace native_runner {
namespace {

TEST(KeepRuleFor, HeadKeepsTheLimit) {
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 53}) {
    EXPECT_EQ(KeepRuleFor(limit, Keep::kHead).head, limit);
    EXPECT_EQ(KeepRuleFor(limit, Keep::kHead).tail, 0u);
  }
}

TEST(KeepRuleFor, HeadTailSharesTheLimit) {
  struct Case {
    std::uint64_t limit, head, tail;
  };
  const std::uint64_t largest = UINT64_MAX;
  for (const Case& c :
       {Case{0, 0, 0}, Case{1, 1, 0}, Case{2, 1, 1}, Case{5, 3, 2}, Case{1048576, 524288, 524288},
        Case{largest, (largest >> 1) + 1, largest >> 1}}) {
    const KeepRule rule = KeepRuleFor(c.limit, Keep::kHeadTail);
    EXPECT_EQ(rule.head, c.head) << c.limit;
    EXPECT_EQ(rule.tail, c.tail) << c.limit;
  }
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include "policy/transaction/change.h"

namespace native_runner {
namespace {

TEST(PathFilter, OfNoneHasAll) {
  EXPECT_TRUE(PathFilter().Has("a/b"));
  EXPECT_TRUE(PathFilter().Has("."));
}

TEST(PathFilter, HasEachPathAndWhatIsBelowIt) {
  const auto filter = PathFilter::Of({"a/b", "./c//d/"});
  ASSERT_TRUE(filter);
  for (const char* path : {"a/b", "a/b/c", "c/d", "c/d/e/f"})
    EXPECT_TRUE(filter.value().Has(path)) << path;
  for (const char* path : {"a", "a/bc", "c", "x/a/b", ".", ""})
    EXPECT_FALSE(filter.value().Has(path)) << path;
}

TEST(PathFilter, OfAnEmptyListHasNothing) {
  const auto filter = PathFilter::Of({});
  ASSERT_TRUE(filter);
  EXPECT_FALSE(filter.value().Has("a"));
}

TEST(PathFilter, TheWorkspaceItselfIsAll) {
  const auto filter = PathFilter::Of({"."});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter.value().Has("a"));
  EXPECT_TRUE(filter.value().Has("."));
}

TEST(PathFilter, RefusesWhatIsNoPathOfTheWorkspace) {
  for (const std::string& path : {std::string(), std::string("/a"), std::string(".."),
                                  std::string("a/../b"), std::string("a\0b", 3)})
    EXPECT_FALSE(PathFilter::Of({"fine", path})) << path;
}

}  // namespace
}  // namespace native_runner

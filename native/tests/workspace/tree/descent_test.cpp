#include <gtest/gtest.h>

#include <utility>

#include "tests/workspace/support/tree.h"
#include "workspace/tree/beneath.h"

namespace native_runner {
namespace {

constexpr int kDepth = 60;  // more than are held open

class DescentTest : public testing::Test {
 protected:
  // A tree of directories in each other, and the way down to the lowest.
  Descent Down() {
    const Beneath root = tree_.Root();
    std::string path;
    for (int i = 0; i < kDepth; ++i)
      path += i == 0 ? "d" : "/d";
    std::filesystem::create_directories(tree_.Path(path));
    Descent descent(std::move(root.Directory("", "open").value()), Mounts::kEnter);
    for (int i = 0; i < kDepth; ++i)
      EXPECT_EQ(OutcomeOf(descent.Enter("d", "open")), "");
    EXPECT_EQ(descent.depth(), std::size_t{kDepth});
    return descent;
  }

  static std::string At(int depth) {
    std::string path = "d";
    for (int i = 1; i < depth; ++i)
      path += "/d";
    return path;
  }

  Tree tree_;
};

TEST_F(DescentTest, ComesBackToWhereItBegan) {
  Descent descent = Down();
  while (descent.depth() > 0)
    ASSERT_EQ(OutcomeOf(descent.Leave("open")), "");
  EXPECT_EQ(faccessat(descent.directory(), "file", F_OK, 0), 0);
  EXPECT_EQ(OutcomeOf(descent.Enter("inner", "open")), "");
  EXPECT_EQ(OutcomeOf(descent.Enter("file", "open")), "ENOTDIR");
}

TEST_F(DescentTest, HoldsFewDirectoriesOpen) {
  const auto open_now = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_now();
  const Descent descent = Down();
  EXPECT_LT(open_now() - before, kDepth - 20);
}

// Whoever moves a directory can choose what is above it.
TEST_F(DescentTest, DoesNotGoBackToAnotherDirectory) {
  Descent descent = Down();
  constexpr int kMoved = 10;
  std::filesystem::rename(tree_.Path(At(kMoved)), tree_.Path("moved"));
  while (descent.depth() > kMoved)
    ASSERT_EQ(OutcomeOf(descent.Leave("open")), "");
  EXPECT_EQ(OutcomeOf(descent.Leave("open")), "EBUSY");
}

TEST_F(DescentTest, EntersNoLink) {
  tree_.Link("../outside", "out");
  tree_.Link("inner", "in");
  Descent descent(std::move(tree_.Root().Directory("", "open").value()), Mounts::kEnter);
  EXPECT_EQ(OutcomeOf(descent.Enter("out", "open")), "ELOOP");
  EXPECT_EQ(OutcomeOf(descent.Enter("in", "open")), "ELOOP");
  EXPECT_EQ(OutcomeOf(descent.Enter("inner", "open")), "");
}

}  // namespace
}  // namespace native_runner

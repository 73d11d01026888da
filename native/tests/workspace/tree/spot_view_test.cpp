#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include "tests/workspace/support/tree.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

class SpotViewTest : public testing::Test {
 protected:
  ScannedTree Opened() const {
    return ScannedTree(
        Descriptor(open(tree_.Path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  }
  static bool Has(SpotView* view, const std::string& path) {
    const auto spot = view->At(path);
    EXPECT_TRUE(spot) << path;
    return spot && spot.value().node.has_value();
  }

  Tree tree_;
};

TEST_F(SpotViewTest, TellsOfAnAbsenceOnlyByADirectoryThatIsThereNow) {
  fs::create_directories(tree_.Path("d"));
  fs::copy_file(tree_.Path("file"), tree_.Path("d/one"));
  const ScannedTree tree = Opened();
  SpotView view(tree);
  EXPECT_TRUE(Has(&view, "d/one"));
  EXPECT_FALSE(Has(&view, "d/two"));
  EXPECT_FALSE(Has(&view, "later/one"));
  EXPECT_TRUE(Has(&view, "d/one"));
  fs::create_directories(tree_.Path("new"));
  for (const char* name : {"new/one", "new/two"})
    fs::copy_file(tree_.Path("file"), tree_.Path(name));
  fs::rename(tree_.Path("d"), tree_.Path("old"));
  fs::rename(tree_.Path("new"), tree_.Path("d"));
  fs::remove_all(tree_.Path("old"));
  EXPECT_TRUE(Has(&view, "d/one"));
  EXPECT_TRUE(Has(&view, "d/two"));
}

TEST_F(SpotViewTest, ADirectoryThatWasRemovedSinceItWasOpenedHoldsNothing) {
  fs::create_directories(tree_.Path("d/below"));
  const ScannedTree tree = Opened();
  const auto open = tree.Open("d");
  ASSERT_TRUE(open);
  ASSERT_TRUE(open.value().Names());
  EXPECT_EQ(open.value().Names().value().size(), 1U);
  fs::remove_all(tree_.Path("d"));
  const auto names = open.value().Names();
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_TRUE(names.value().empty());
}

TEST_F(SpotViewTest, SeesADirectoryThatIsMadeAfterItWasAskedFor) {
  const ScannedTree tree = Opened();
  SpotView view(tree);
  EXPECT_FALSE(Has(&view, "later/one"));
  fs::create_directories(tree_.Path("later/one"));
  EXPECT_TRUE(Has(&view, "later/one"));
}

// A look at a transaction opens directories for a moment, and commands may run meanwhile.
TEST_F(SpotViewTest, AModeThatSomebodyGivesMeanwhileIsNotTakenBack) {
  fs::create_directories(tree_.Path("d"));
  const std::string path = tree_.Path("d");
  const auto mode_of = [&path] {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 07777U;
  };
  for (const mode_t given : {mode_t{0700}, mode_t{0755}}) {
    ASSERT_EQ(chmod(path.c_str(), 0), 0);
    {
      Descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
      const auto opened = OpenedDirectory::Open(std::move(place), 0, S_IRWXU);
      ASSERT_TRUE(opened);
      EXPECT_EQ(mode_of(), 0700U);
      ASSERT_EQ(chmod(path.c_str(), given), 0);
    }
    EXPECT_EQ(mode_of(), given == 0700 ? 0U : given);
  }
}

}  // namespace
}  // namespace native_runner

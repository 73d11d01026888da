// The text of changes, some of which are no longer there when it is made.
#include "workspace/changes/patch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/workspace/support/overlay.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

class PatchTest : public testing::Test {
 protected:
  PatchTest() {
    for (const char* path : {"dir/added", "stays"})
      overlay_.Change(path, "text\n");
    overlay_.Put("stays", "old\n");
    for (const char* path : {"dir/added", "stays"}) {
      Change change;
      change.path = path;
      change.kind = Change::Kind::kAdded;
      change.mode = S_IFREG | 0644U;
      change.size = 5;
      changes_.push_back(change);
    }
    changes_.back().kind = Change::Kind::kModified;
    changes_.back().previous_mode = S_IFREG | 0644U;
    changes_.back().previous_size = 4;
  }

  std::string At(const std::string& path) const { return overlay_.Upper(path); }

  bool Tells(const std::string& path) const {
    constexpr std::uint64_t kMost = 1U << 20U;
    const auto text = MakePatch(overlay_.UpperTree(), overlay_.HostTree(), changes_, kMost);
    EXPECT_TRUE(text) << text.error().message;
    return text && text.value().find("+++ b/" + path) != std::string::npos;
  }

  Overlay overlay_;
  std::vector<Change> changes_;
};

TEST_F(PatchTest, TellsOfWhatIsThere) {
  EXPECT_TRUE(Tells("dir/added"));
  EXPECT_TRUE(Tells("stays"));
}

TEST_F(PatchTest, LeavesOutWhatHasGone) {
  fs::remove(At("dir/added"));
  EXPECT_FALSE(Tells("dir/added"));
  fs::remove(At("dir"));
  EXPECT_FALSE(Tells("dir/added"));
  EXPECT_TRUE(Tells("stays"));
}

TEST_F(PatchTest, LeavesOutWhatHasBecomeSomethingElse) {
  fs::remove(At("dir/added"));
  fs::create_directory(At("dir/added"));
  EXPECT_FALSE(Tells("dir/added"));
  fs::remove_all(At("dir"));
  fs::create_symlink("nowhere", At("dir"));
  EXPECT_FALSE(Tells("dir/added"));
  EXPECT_TRUE(Tells("stays"));
}

}  // namespace
}  // namespace native_runner

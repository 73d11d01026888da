#include <gtest/gtest.h>

#include <filesystem>

#include "tests/workspace/support/copied_project.h"
#include "workspace/changes/scan.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

TEST(ScanCopyTest, OfWhatNobodyChangedIsEmpty) {
  const CopiedProject project;
  EXPECT_EQ(project.Host(), project.Copies());
  EXPECT_EQ(project.Paths(), "");
}

TEST(ScanCopyTest, TellsOfAllThatWasChanged) {
  const CopiedProject project;
  project.Change();
  EXPECT_EQ(project.Paths(),
            "a b dir dir/new dir/x gone gone/one gone/sub gone/sub/two hard link made made/deep "
            "made/deep/file to-dir to-dir/made to-file to-file/inner ");
}

TEST(ScanCopyTest, TellsOfNoTimesAndOfNothingThatIsAsItWas) {
  const CopiedProject project;
  const std::string text = "host same";
  project.overlay().Change("same", text);
  ASSERT_EQ(utimensat(AT_FDCWD, project.Mine("dir/x").c_str(), nullptr, 0), 0);
  EXPECT_EQ(project.Paths(), "");
  project.overlay().Change("same", "HOST same");
  EXPECT_EQ(project.Paths(), "same ") << "the control: of the same size";
}

struct Edit {
  const char* what;
  void (*make)(const Overlay&);
  const char* paths;
};

class CopyConflictTest : public testing::TestWithParam<Edit> {};

// The transaction has changed a, made dir/new and removed gone.
TEST_P(CopyConflictTest, IsToldWhereTheHostHasChangedTheSame) {
  const CopiedProject project;
  project.overlay().Change("dir/new", "mine new");
  project.overlay().Change("dir/x", "mine x");
  fs::remove_all(project.Mine("gone"));
  ASSERT_EQ(project.Paths(), "dir/new dir/x gone gone/one gone/sub gone/sub/two ");
  GetParam().make(project.overlay());
  EXPECT_EQ(project.Paths(), GetParam().paths);
}

constexpr const char* kNone = "dir/new dir/x gone gone/one gone/sub gone/sub/two ";

INSTANTIATE_TEST_SUITE_P(
    , CopyConflictTest,
    testing::Values(
        Edit{"changes_another_file", [](const Overlay& at) { at.Put("b", "edited"); }, kNone},
        Edit{"makes_another_file", [](const Overlay& at) { at.Put("dir/z", "edited"); }, kNone},
        Edit{"changes_the_file", [](const Overlay& at) { at.Put("dir/x", "edited"); },
             "dir/new dir/x! gone gone/one gone/sub gone/sub/two "},
        Edit{"makes_the_same_file", [](const Overlay& at) { at.Put("dir/new", "edited"); },
             "dir/new! dir/x gone gone/one gone/sub gone/sub/two "},
        Edit{"removes_the_file", [](const Overlay& at) { fs::remove(at.Host("dir/x")); },
             "dir/new dir/x! gone gone/one gone/sub gone/sub/two "},
        Edit{"removes_the_directory", [](const Overlay& at) { fs::remove_all(at.Host("dir")); },
             "dir! dir/new! dir/x! gone gone/one gone/sub gone/sub/two "},
        Edit{"replaces_the_directory",
             [](const Overlay& at) {
               fs::rename(at.Host("dir"), at.Host("was"));
               fs::copy(at.Host("was"), at.Host("dir"), fs::copy_options::recursive);
             },
             "dir/new! dir/x! gone gone/one gone/sub gone/sub/two "},
        Edit{"makes_a_file_in_a_removed_directory",
             [](const Overlay& at) { at.Put("gone/sub/more", "edited"); },
             "dir/new dir/x gone gone/one gone/sub! gone/sub/more! gone/sub/two "},
        Edit{"changes_a_removed_file", [](const Overlay& at) { at.Put("gone/one", "edited"); },
             "dir/new dir/x gone gone/one! gone/sub gone/sub/two "},
        Edit{"removes_it_too", [](const Overlay& at) { fs::remove_all(at.Host("gone")); },
             "dir/new dir/x "}),
    [](const auto& given) { return std::string(given.param.what); });

TEST(CopyTreeTest, LeavesOutWhatCommitsKeepAside) {
  const Overlay overlay;
  overlay.Put("a", "a");
  overlay.Put(".native-runner-aside-0123456789abcdef/0", "kept");
  overlay.Put(".native-runner-aside-else/0", "not kept");
  const Descriptor to = Overlay::Open(overlay.Upper());
  CopyProgress progress;
  const auto copied = CopyTree(overlay.HostTree(), to.get(), 1'000, &progress);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(progress.files, 2U);
  EXPECT_FALSE(fs::exists(overlay.Upper(".native-runner-aside-0123456789abcdef")));
  EXPECT_TRUE(fs::exists(overlay.Upper(".native-runner-aside-else/0")));
}

TEST(CopyTreeTest, StopsWhenItIsTold) {
  const Overlay overlay;
  overlay.Put("a", "a");
  const Descriptor to = Overlay::Open(overlay.Upper());
  CopyProgress progress;
  progress.is_stopped = true;
  const auto copied = CopyTree(overlay.HostTree(), to.get(), 1'000, &progress);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::kClosed);
}

}  // namespace
}  // namespace native_runner

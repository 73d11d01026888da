// HostEdits reports the host's changes of names, and not what it writes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "tests/workspace/support/overlay.h"
#include "workspace/transaction/freshness.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

class HostEditsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "dir/x", "dir/deep/y"})
      overlay_.Put(name, "host");
  }
  std::unique_ptr<HostEdits> Watch() const {
    const std::atomic<bool> stop = false;
    return HostEdits::Watch(overlay_.HostTree(), stop);
  }

  Overlay overlay_;
};

struct Edit {
  const char* what;
  bool is_reported;
  bool is_whole;
  void (*make)(const Overlay&);
};

class HostEditTest : public HostEditsTest, public testing::WithParamInterface<Edit> {};

TEST_P(HostEditTest, IsToldOnce) {
  const auto edits = Watch();
  ASSERT_TRUE(edits);
  EXPECT_FALSE(edits->HasSome());
  GetParam().make(overlay_);
  EXPECT_EQ(edits->HasSome(), GetParam().is_reported);
  EXPECT_EQ(edits->is_whole(), GetParam().is_whole);
  if (GetParam().is_whole) {
    EXPECT_FALSE(edits->HasSome());
  }
}

INSTANTIATE_TEST_SUITE_P(
    , HostEditTest,
    testing::Values(
        Edit{"nothing", false, true, [](const Overlay&) {}},
        Edit{"a write in place", false, true,
             [](const Overlay& at) { std::ofstream(at.Host("dir/x")) << "other"; }},
        Edit{"a read", false, true,
             [](const Overlay& at) {
               std::string text;
               std::ifstream(at.Host("a")) >> text;
               EXPECT_EQ(text, "host");
               for ([[maybe_unused]] const auto& entry : fs::directory_iterator(at.Host("dir"))) {
               }
             }},
        Edit{"a file that is made", true, true,
             [](const Overlay& at) { at.Put("dir/deep/new", "x"); }},
        Edit{"a file that is removed", true, true,
             [](const Overlay& at) { fs::remove(at.Host("dir/deep/y")); }},
        Edit{"a file that is replaced", true, true,
             [](const Overlay& at) { fs::rename(at.Host("b"), at.Host("a")); }},
        Edit{"a second name", true, true,
             [](const Overlay& at) { fs::create_hard_link(at.Host("a"), at.Host("dir/c")); }},
        Edit{"a mode", true, true, [](const Overlay& at) { chmod(at.Host("a").c_str(), 0600); }},
        Edit{"a directory's mode", true, true,
             [](const Overlay& at) { chmod(at.Host("dir").c_str(), 0700); }},
        Edit{"a directory that is made", true, false,
             [](const Overlay& at) { fs::create_directory(at.Host("dir/new")); }},
        Edit{"a directory that is moved", true, false,
             [](const Overlay& at) { fs::rename(at.Host("dir/deep"), at.Host("deep")); }},
        Edit{"a directory that is removed", true, false,
             [](const Overlay& at) { fs::remove_all(at.Host("dir")); }},
        Edit{"the whole that is moved", true, false,
             [](const Overlay& at) { fs::rename(at.Host(), at.place().Path("other")); }}),
    [](const auto& given) {
      std::string name = given.param.what;
      for (char& letter : name)
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
      return name;
    });

TEST_F(HostEditsTest, MoreThanFitsIsToldToo) {
  const auto edits = Watch();
  ASSERT_TRUE(edits);
  int most = 16'384;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most;
  if (most > 100'000) GTEST_SKIP() << "that would take too long";
  for (int count = 0; count <= most / 2 + 1; ++count) {
    chmod(overlay_.Host("a").c_str(), 0600);  // two names, so that no two are one
    chmod(overlay_.Host("b").c_str(), 0600);
  }
  EXPECT_TRUE(edits->HasSome());
  EXPECT_FALSE(edits->is_whole());
}

TEST_F(HostEditsTest, CantBeWatchedWhereADirectoryCantBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root can read all";
  chmod(overlay_.Host("dir/deep").c_str(), 0);
  EXPECT_FALSE(Watch());
  chmod(overlay_.Host("dir/deep").c_str(), 0700);
  EXPECT_TRUE(Watch()) << "the control";
}

TEST_F(HostEditsTest, TakeNoMoreThanTheirShare) {
  std::vector<std::unique_ptr<HostEdits>> all;
  for (int count = 0; count < HostEdits::kMostAtOnce; ++count)
    all.push_back(Watch());
  if (!all.back()) GTEST_SKIP() << "others have them all";
  EXPECT_FALSE(Watch());
  all.pop_back();
  EXPECT_TRUE(Watch()) << "the control";
}

TEST_F(HostEditsTest, EndsEarlyWhenItIsToldTo) {
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(HostEdits::Watch(overlay_.HostTree(), stop));
}

}  // namespace
}  // namespace native_runner

// An overlay that looks again at the host's files, observed by its root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "supervise/transaction/mounted_workspace.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

class LookAgainTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"host/dir", "state/upper", "state/work"})
      fs::create_directories(place_.Path(name));
    place_.Write("host/a", "old");
    place_.Write("host/dir/x", "old");
    auto workspace = OpenWorkspace(place_.Path("host"));
    ASSERT_TRUE(workspace);
    const std::string state = place_.Path("state");
    auto kept =
        MountOverlay(LauncherPath(), *workspace, {state, state + "/upper", state + "/work"}, {});
    if (!kept) GTEST_SKIP() << kept.error().message;
    kept_ = std::move(*kept);
  }

  // Returns the file as the overlay shows it; "" if it shows none.
  std::string Shown(const char* name) const {
    const Descriptor file(openat(kept_->root.get(), name, O_RDONLY | O_CLOEXEC));
    std::array<char, 16> text{};
    const ssize_t size = file.valid() ? read(file.get(), text.data(), text.size()) : 0;
    return {text.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
  }
  void LookAtAll() const {
    EXPECT_EQ(Shown("a"), "old");
    EXPECT_EQ(Shown("dir/x"), "old");
    EXPECT_EQ(Shown("new"), "");
  }
  void Edit() const {
    place_.Write("new", "new");
    place_.Write("x", "new");
    fs::rename(place_.Path("new"), place_.Path("host/new"));
    fs::rename(place_.Path("x"), place_.Path("host/dir/x"));
    fs::remove(place_.Path("host/a"));
  }
  void LookAgainNow() const {
    const auto failed = LookAgain(LauncherPath(), *kept_);
    ASSERT_FALSE(failed) << failed->message;
  }

  TempDirectory place_;
  std::shared_ptr<const MountedWorkspace> kept_;
};

TEST_F(LookAgainTest, ShowsWhatTheHostHasNow) {
  LookAtAll();
  Edit();
  LookAgainNow();
  EXPECT_EQ(Shown("a"), "");
  EXPECT_EQ(Shown("dir/x"), "new");
  EXPECT_EQ(Shown("new"), "new");
}

TEST_F(LookAgainTest, KeepsWhatIsOpen) {
  LookAtAll();
  const Descriptor open_file(openat(kept_->root.get(), "a", O_RDONLY | O_CLOEXEC));
  const Descriptor directory(openat(kept_->root.get(), "dir", O_RDONLY | O_CLOEXEC));
  Edit();
  LookAgainNow();
  char letter = 0;
  EXPECT_EQ(read(open_file.get(), &letter, 1), 1);
  EXPECT_EQ(letter, 'o');
  const Descriptor inside(openat(directory.get(), "x", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read(inside.get(), &letter, 1), 1);
  EXPECT_EQ(letter, 'n') << "in a directory that is open";
}

TEST_F(LookAgainTest, KeepsWhatWasChanged) {
  const Descriptor made(openat(kept_->root.get(), "mine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(write(made.get(), "mine", 4), 4);
  LookAgainNow();
  EXPECT_EQ(Shown("mine"), "mine");
  EXPECT_EQ(write(made.get(), "more", 4), 4);
  EXPECT_EQ(Shown("mine"), "minemore");
  EXPECT_EQ(place_.Read("state/upper/mine"), "minemore");
}

TEST(LookAgain, WhatIsNoOverlayIsAnError) {
  const TempDirectory place;
  MountedWorkspace none;
  none.root = Descriptor(open(place.path().c_str(), O_PATH | O_CLOEXEC));
  EXPECT_TRUE(LookAgain("/no/such/launcher", none));
}

TEST(CurrentWorkspaceTest, KeepsNoneAlive) {
  CurrentWorkspace current;
  EXPECT_FALSE(current.Enter());
  auto kept = std::make_shared<const MountedWorkspace>();
  current.Set(kept);
  EXPECT_EQ(current.Enter(), kept);
  EXPECT_EQ(kept.use_count(), 1);
  current.Set(nullptr);
  EXPECT_FALSE(current.Enter());
  current.Set(kept);
  kept.reset();
  EXPECT_FALSE(current.Enter());
}

}  // namespace
}  // namespace native_runner

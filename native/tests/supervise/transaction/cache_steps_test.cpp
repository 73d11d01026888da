// The steps that show directories copy-on-write (kStepCache, kStepShowCaches in protocol/order.h).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "protocol/order.h"
#include "supervise/transaction/mounted_workspace.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class CacheStepsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"one", "two"}) {
      std::filesystem::create_directory(directory_.Path(name));
      std::ofstream(directory_.Path(name) + "/file") << name;
    }
    const auto made = Make({Cache(0, "one"), Show("0")});
    if (!made) GTEST_SKIP() << "no caches can be shown here: " << made.error().message;
  }

  // The step that takes the descriptor number `at` of those that are given.
  std::string Cache(int at, const char* name, const std::string& hidden = "") const {
    const std::string path = directory_.Path(name);
    const Descriptor opened(open(path.c_str(), O_PATH | O_CLOEXEC));
    const auto identity = IdentityOf(opened.get());
    EXPECT_TRUE(identity) << path;
    return kStepCache + std::to_string(kFirstGiven + at) + ":" +
           std::to_string(identity.value().device) + ":" + std::to_string(identity.value().inode) +
           ":" + path + hidden;
  }

  static std::string Show(const std::string& bytes) { return kStepShowCaches + bytes; }

  // The step that refuses unless a path leads to what a number refers to.
  std::string Shown(int at, const char* name) const {
    return kStepShown + std::to_string(kFirstGiven + at) + ":" + directory_.Path(name);
  }

  // Takes the steps in a mount namespace of their own, with two descriptors to be replaced.
  static Result<std::vector<Descriptor>> Make(std::vector<std::string> steps) {
    const Descriptor null_device(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::vector<int> given = {null_device.get(), null_device.get()};
    steps.insert(steps.begin(), std::string(1, kStepOwnMounts) + (geteuid() == 0 ? "" : "u"));
    return MakeNamespaces(LauncherPath(), steps, given);
  }

  static std::string Refusal(std::vector<std::string> steps) {
    const auto made = Make(std::move(steps));
    return made ? "nothing was refused" : made.error().message;
  }

  TempDirectory directory_;
};

TEST_F(CacheStepsTest, TheNumbersAreTheRootsOfWhatThePathsLeadTo) {
  const auto made =
      Make({Cache(0, "one"), Cache(1, "two"), Show("1048576"), Shown(0, "one"), Shown(1, "two")});
  EXPECT_TRUE(made) << made.error().message;
  EXPECT_NE(Refusal({Cache(0, "one"), Cache(1, "two"), Show("0"), Shown(0, "two")})
                .find("is not what the namespace was made for"),
            std::string::npos);
}

TEST_F(CacheStepsTest, TheHostSeesNothingOfThem) {
  ASSERT_TRUE(Make({Cache(0, "one", "\nfile"), Cache(1, "two"), Show("0")}));
  for (const char* name : {"one", "two"}) {
    struct statfs status {};
    ASSERT_EQ(statfs(directory_.Path(name).c_str(), &status), 0);
    EXPECT_NE(status.f_type, OVERLAYFS_SUPER_MAGIC);
    EXPECT_TRUE(std::filesystem::exists(directory_.Path(name) + "/file"));
  }
}

TEST_F(CacheStepsTest, ADirectoryThatIsAnotherByNowIsRefused) {
  const std::string step = Cache(0, "one");
  std::filesystem::rename(directory_.Path("one"), directory_.Path("moved"));
  std::filesystem::create_directory(directory_.Path("one"));
  EXPECT_NE(Refusal({step, Show("0")}).find("is another directory"), std::string::npos);
}

TEST_F(CacheStepsTest, ALinkInItsPlaceIsRefused) {
  const std::string step = Cache(0, "one");
  std::filesystem::rename(directory_.Path("one"), directory_.Path("moved"));
  std::filesystem::create_symlink("moved", directory_.Path("one"));
  EXPECT_NE(Refusal({step, Show("0")}), "nothing was refused");
}

TEST_F(CacheStepsTest, PathsBelowAreHiddenThereOrNot) {
  for (const char* path : {"one/a/b/c", "one/a/b/d", "one/e/f"})
    std::filesystem::create_directories(directory_.Path(path));
  const std::string hidden = "\na/b/c\na/missing/x\na/missing/y\nmissing/z\ne";
  // Of a path that nothing is at, a step says that; of any other, that it is another file.
  const auto seen = [&](const char* path) {
    const std::string look = kStepLower + ("1:1:" + directory_.Path(path));
    return Refusal({Cache(0, "one", hidden), Show("0"), look});
  };
  for (const char* path : {"one/a/b/c", "one/a/missing", "one/missing", "one/e"})
    EXPECT_NE(seen(path).find("No such file"), std::string::npos) << path << ": " << seen(path);
  for (const char* path : {"one", "one/a", "one/a/b", "one/a/b/d"})
    EXPECT_NE(seen(path).find("another directory"), std::string::npos) << path;
}

TEST_F(CacheStepsTest, APathBelowAnotherHiddenOneIsRefused) {
  std::filesystem::create_directories(directory_.Path("one/a/b"));
  for (const char* hidden : {"\na/b\na", "\na\na/b"})
    EXPECT_NE(Refusal({Cache(0, "one", hidden), Show("0")}).find("can't be hidden"),
              std::string::npos)
        << hidden;
}

TEST_F(CacheStepsTest, WhatIsKeptShowsAsItIs) {
  std::filesystem::create_directories(directory_.Path("one/kept/below"));
  const auto named = [this](char kind, const char* path) {
    const Descriptor opened(open(directory_.Path(path).c_str(), O_PATH | O_CLOEXEC));
    const auto identity = IdentityOf(opened.get());
    EXPECT_TRUE(identity) << path;
    return kind + std::to_string(identity.value().device) + ":" +
           std::to_string(identity.value().inode) + ":" + directory_.Path(path);
  };
  const std::string look = named(kStepLower, "one/kept/below");
  EXPECT_NE(Refusal({Cache(0, "one"), Show("0"), look}).find("another directory"),
            std::string::npos);
  const auto made = Make({Cache(0, "one"), named(kStepKept, "one/kept"), Show("0"), look});
  EXPECT_TRUE(made) << made.error().message;
  for (const char* none : {"K", "K1:2", "Kone", "K1:2:one"}) {
    EXPECT_NE(Refusal({Cache(0, "one"), none, Show("0")}).find("a step without a cache"),
              std::string::npos)
        << none;
  }
  const std::string other = "K1:2:" + directory_.Path("one/kept");
  EXPECT_NE(Refusal({Cache(0, "one"), other, Show("0")}).find("another directory"),
            std::string::npos);
}

TEST_F(CacheStepsTest, StepsThatAreNoneAreRefused) {
  const std::string good = Cache(0, "one");
  const std::string file = good.substr(good.find(':'));
  const std::vector<std::string> none = {"C",      "C:" + file, "C3" + file, "C1024" + file,
                                         "C4:1:2", "C4:1:2:one"};
  for (const std::string& step : none) {
    EXPECT_NE(Refusal({step, Show("0")}).find("a step without a cache"), std::string::npos) << step;
  }
  for (const char* bytes : {"", "x", "1x", "-1", "18446744073709551615"}) {
    EXPECT_NE(Refusal({good, Show(bytes)}).find("a step without a cache"), std::string::npos)
        << bytes;
  }
  EXPECT_NE(Refusal({Show("0")}).find("a step without a cache"), std::string::npos);
}

// A death may have come at any moment before the upper layer was whole.
TEST_F(CacheStepsTest, ATransactionHidesWhatIsHiddenAfterADeathToo) {
  std::ofstream(directory_.Path("one") + "/secret") << "secret";
  std::filesystem::create_directories(directory_.Path("one/sub"));
  std::filesystem::create_directories(directory_.Path("copy"));
  auto workspace = OpenWorkspace(directory_.Path("copy"));
  ASSERT_TRUE(workspace);
  int number = 0;
  for (const char* left : {"", "/caches/one", "/caches/one/upper.new"}) {
    const std::string state = directory_.Path("state") + std::to_string(++number);
    std::filesystem::create_directories(state + left);
    std::vector<CacheOverlay> caches = {
        {directory_.Path("one"), state + "/caches/one", {"secret"}}};
    // Again: the second finds the layers of the first, which an earlier version may have made.
    for (const char* also : {"", "sub"}) {
      caches.front().hidden.resize(1);
      if (*also != '\0') caches.front().hidden.emplace_back(also);
      auto kept =
          OpenCopiedWorkspace(LauncherPath(), *workspace, state, directory_.Path("copy"), caches);
      ASSERT_TRUE(kept) << kept.error().message;
      const int root = (*kept)->caches.front().root.get();
      EXPECT_TRUE(Descriptor(openat(root, "file", O_RDONLY | O_CLOEXEC)).valid()) << left;
      EXPECT_FALSE(Descriptor(openat(root, "secret", O_RDONLY | O_CLOEXEC)).valid()) << left;
      EXPECT_EQ(Descriptor(openat(root, "sub", O_RDONLY | O_CLOEXEC)).valid(), *also == '\0')
          << left;
    }
  }
}

}  // namespace
}  // namespace native_runner

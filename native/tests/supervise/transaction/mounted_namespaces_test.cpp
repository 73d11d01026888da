// How the launcher runs an order's steps (protocol/order.h), observed by the classes that order it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "protocol/order.h"
#include "supervise/transaction/mounted_workspace.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

using Steps = std::vector<std::string>;

class NamespacesTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"lower", "upper", "work"})
      std::filesystem::create_directory(directory_.Path(name));
    auto made = Make(Begin());
    if (!made) GTEST_SKIP() << "no namespaces can be made here: " << made.error().message;
  }

  static Result<std::vector<Descriptor>> Make(const Steps& steps) {
    return MakeNamespaces(LauncherPath(), steps);
  }

  static Steps Begin() {
    Steps steps;
    if (geteuid() != 0) steps.emplace_back(1, kStepUserNamespace);
    steps.emplace_back(1, kStepMountNamespace);
    return steps;
  }

  std::string File(const char* name) const {
    const std::string path = directory_.Path(name);
    const Descriptor opened(open(path.c_str(), O_PATH | O_CLOEXEC));
    const auto identity = IdentityOf(opened.get());
    EXPECT_TRUE(identity) << path;
    return std::to_string(identity.value().device) + ":" + std::to_string(identity.value().inode) +
           ":" + path;
  }

  Steps OverlaySteps() const {
    Steps steps = Begin();
    steps.push_back(kStepLower + File("lower"));
    steps.push_back(kStepUpper + File("upper"));
    steps.push_back(kStepWork + File("work"));
    steps.push_back(kStepOverlay + File("lower"));
    return steps;
  }

  static std::string Refusal(const Steps& steps) {
    auto made = Make(steps);
    if (made) return "nothing was refused";
    EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
    return made.error().message;
  }

  TempDirectory directory_;
};

// The option userxattr, which an overlay takes here, came with Linux 5.11.
bool HasOverlays() {
  utsname kernel{};
  uname(&kernel);
  int major = 0;
  int minor = 0;
  std::sscanf(kernel.release, "%d.%d", &major, &minor);
  return major > 5 || (major == 5 && minor >= 11);
}

TEST_F(NamespacesTest, AreHandedOverAndOutliveTheirMaker) {
  if (!HasOverlays()) GTEST_SKIP() << "no overlay with userxattr before Linux 5.11";
  const int open_before = CountDescriptors();
  const int children_before = CountChildren();
  {
    auto made = Make(OverlaySteps());
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made->size(), geteuid() == 0 ? 2u : 3u);
    struct statfs status {};
    ASSERT_EQ(fstatfs(made->back().get(), &status), 0);
    EXPECT_EQ(status.f_type, OVERLAYFS_SUPER_MAGIC);
    ASSERT_EQ(statfs(directory_.Path("lower").c_str(), &status), 0);
    EXPECT_NE(status.f_type, OVERLAYFS_SUPER_MAGIC) << "the host sees it too";
    EXPECT_EQ(CountChildren(), children_before);
  }
  EXPECT_EQ(CountDescriptors(), open_before);
}

TEST_F(NamespacesTest, ADirectoryThatIsAnotherByNowIsRefused) {
  for (const std::size_t at : {0U, 1U, 2U, 3U}) {
    Steps steps = OverlaySteps();
    std::string& step = steps[Begin().size() + at];
    step.insert(step.find(':') + 1, "9");
    EXPECT_NE(Refusal(steps).find("is another directory"), std::string::npos) << step;
  }
}

TEST_F(NamespacesTest, ALinkInADirectorysPlaceIsRefused) {
  const Steps steps = OverlaySteps();
  std::filesystem::rename(directory_.Path("upper"), directory_.Path("moved"));
  std::filesystem::create_directory_symlink(directory_.Path("moved"), directory_.Path("upper"));
  EXPECT_NE(Refusal(steps).find("upper"), std::string::npos);
}

TEST_F(NamespacesTest, AnOverlayWithoutAllItsDirectoriesIsRefused) {
  for (const std::size_t at : {0U, 1U, 2U}) {
    Steps steps = OverlaySteps();
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(Begin().size() + at));
    EXPECT_NE(Refusal(steps).find("names not all"), std::string::npos) << at;
  }
}

TEST_F(NamespacesTest, MoreLayersThanThereIsRoomForAreRefused) {
  Steps steps = OverlaySteps();
  const std::string lower = steps[Begin().size()];
  steps.insert(steps.begin() + 2, 200, lower);
  EXPECT_NE(Refusal(steps).find("too many layers"), std::string::npos);
}

TEST_F(NamespacesTest, StepsThatCantBeTakenAreRefused) {
  const char* const wrong[] = {
      "?",   "",     "l",  "l1:2", "l1:2:relative", "o",    "j",    "jx", "j3x", "j9999",
      "j77", "s",    "s3", "s3:",  "s3x",           "s3:x", "s9:/", "x",  "x77", "xx",
      "j3",  "s3:/", "a",  "ax",   "a3x",           "a3",   "a77"};
  for (const char* step : wrong) {
    Steps steps = Begin();
    steps.emplace_back(step);
    EXPECT_NE(Refusal(steps), "nothing was refused") << '"' << step << '"';
  }
}

// Without a step that makes a mount namespace, the overlay would be the host's.
TEST_F(NamespacesTest, TheKernelsRefusalIsTold) {
  if (geteuid() == 0) GTEST_SKIP() << "root may mount on the host";
  Steps steps = OverlaySteps();
  steps.erase(steps.begin(), steps.begin() + 2);
  EXPECT_NE(Refusal(steps).find("Operation not permitted"), std::string::npos);
}

TEST(Namespaces, ALauncherThatIsNoneIsAnError) {
  EXPECT_FALSE(MakeNamespaces("/no/such/launcher", Steps{}));
  EXPECT_FALSE(MakeNamespaces("/bin/true", Steps{"m"}));
}

}  // namespace
}  // namespace native_runner

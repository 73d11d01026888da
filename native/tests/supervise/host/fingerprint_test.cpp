#include "supervise/host/fingerprint.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

// A plan that binds a directory of the test's and masks a file in it.
class FingerprintTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(directory_.Path("tools/bin"));
    std::filesystem::create_directories(directory_.Path("workspace"));
    directory_.Write("tools/secret", "one");
    const std::string tools = directory_.Path("tools");
    plan_.mounts = {
        {.kind = Mount::Kind::kTmpfs, .source = "", .target = "/tmp"},
        {.kind = Mount::Kind::kReadOnlyBind, .source = tools, .target = tools},
        {.kind = Mount::Kind::kReadOnlyBind, .source = "/dev/null", .target = tools + "/secret"}};
    // Kernels before 6.13 stamp files by a tick of some milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    before_ = Now();
    ASSERT_TRUE(before_.valid());
    EXPECT_EQ(Now().host, before_.host);
  }

  Fingerprint Now() {
    const auto workspace = OpenPath(directory_.Path("workspace").c_str(), O_PATH | O_DIRECTORY);
    const std::array bound = {workspace.value().get()};
    return FingerprintOf(PlanFingerprint(plan_), bound, watch_.State());
  }
  void Move(const char* from, const char* to) const {
    std::filesystem::rename(directory_.Path(from), directory_.Path(to));
  }

  TempDirectory directory_;
  BubblewrapPlan plan_;
  HostWatch watch_;
  Fingerprint before_;
};

TEST_F(FingerprintTest, IsTheSameWhateverIsDoneInADirectory) {
  directory_.Write("workspace/file", "text");
  directory_.Write("tools/bin/new", "text");
  EXPECT_EQ(Now().host, before_.host);
}

TEST_F(FingerprintTest, NoticesAReplacedWorkspace) {
  Move("workspace", "old");
  std::filesystem::create_directory(directory_.Path("workspace"));
  EXPECT_NE(Now().host, before_.host);
  std::filesystem::remove(directory_.Path("workspace"));
  Move("old", "workspace");
  EXPECT_EQ(Now().host, before_.host) << "the same directory is back";
}

TEST_F(FingerprintTest, NoticesAReplacedSource) {
  Move("tools", "old");
  std::filesystem::create_directory(directory_.Path("tools"));
  EXPECT_NE(Now().host, before_.host);
  std::filesystem::remove(directory_.Path("tools"));
  EXPECT_NE(Now().host, before_.host) << "missing";
}

// The kernel drops a mount whose mount point is renamed over: the mask would be gone.
TEST_F(FingerprintTest, NoticesAReplacedMountPoint) {
  directory_.Write("tools/new", "two");
  Move("tools/new", "tools/secret");
  EXPECT_NE(Now().host, before_.host);
}

TEST_F(FingerprintTest, NoticesAMountPointThatWasAwayForAWhile) {
  std::filesystem::create_hard_link(directory_.Path("tools/secret"), directory_.Path("backup"));
  std::filesystem::remove(directory_.Path("tools/secret"));
  Move("backup", "tools/secret");
  EXPECT_NE(Now().host, before_.host) << "the same inode, and no mount on it any more";
}

// A mount's place in another one is the host's too, under that one's own path.
TEST_F(FingerprintTest, NoticesAReplacedMountPointInAMount) {
  plan_.mounts.push_back({.kind = Mount::Kind::kBind,
                          .source = directory_.Path("tools"),
                          .target = "/data",
                          .descriptor = 7,
                          .number = 0});
  plan_.mounts.push_back({.kind = Mount::Kind::kReadOnlyBind,
                          .source = directory_.Path("workspace"),
                          .target = "/data/bin",
                          .descriptor = 8,
                          .number = 1});
  const Fingerprint before = Now();
  EXPECT_NE(before.host, before_.host);
  EXPECT_EQ(Now().host, before.host);
  Move("tools/bin", "old");
  std::filesystem::create_directory(directory_.Path("tools/bin"));
  EXPECT_NE(Now().host, before.host);
}

// For sessions, which ignore a replaced workspace or source: they hold theirs open.
TEST_F(FingerprintTest, LooksAtTheMountPointsAlone) {
  const auto paths = MountPointsOf(PlanFingerprint(plan_));
  ASSERT_EQ(paths, std::vector<std::string>{directory_.Path("tools/secret")});
  const std::string seen = LookAtMountPoints(paths);
  Move("workspace", "old");
  directory_.Write("tools/bin/new", "");
  EXPECT_EQ(LookAtMountPoints(paths), seen);
  directory_.Write("tools/next", "two");
  Move("tools/next", "tools/secret");
  EXPECT_NE(LookAtMountPoints(paths), seen);
}

TEST_F(FingerprintTest, KeepsTheSizeOfTheTmpfsApart) {
  plan_.mounts[0].size_bytes = 1'048'576;
  const Fingerprint sized = Now();
  EXPECT_EQ(sized.host, before_.host);
  EXPECT_EQ(sized.tmp_bytes, 1'048'576u);
  EXPECT_EQ(before_.tmp_bytes, 0u);
}

TEST_F(FingerprintTest, NoticesOtherOptions) {
  plan_.hardening.unshare_net = true;
  EXPECT_NE(Now().host, before_.host);
}

}  // namespace
}  // namespace native_runner

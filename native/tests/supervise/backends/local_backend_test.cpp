#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervise/backends/launcher_backends.h"
#include "tests/supervise/support/plans.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class LocalBackendTest : public testing::Test {
 protected:
  Result<Preparation> Prepare(const ExecRequest& request, const std::string& workspace) {
    std::optional<Result<Preparation>> prepared;
    LocalBackend({workspace, {}}).Prepare(request, shared_, [&](Result<Preparation> made) {
      EXPECT_FALSE(prepared);
      prepared = std::move(made);
    });
    return prepared ? std::move(*prepared) : Error{ErrorCode::kClosed, "not called back", ""};
  }

  TempDirectory directory_;
  SupervisorContext shared_;
};

TEST_F(LocalBackendTest, StartsTheLauncherInTheWorkspace) {
  std::filesystem::create_directory(directory_.Path("real"));
  std::filesystem::create_symlink("real", directory_.Path("link"));
  const ExecRequest request = CommandRequest({"node", "a.js"});
  auto made = Prepare(request, directory_.Path("link"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->cwd, directory_.Path("real"));
  EXPECT_EQ(made->record.runtime, "local");
  EXPECT_EQ(made->record.cmd, "node");
  EXPECT_EQ(made->record.argv, request.argv);
  EXPECT_EQ(made->record.cwd, directory_.Path("real"));
  EXPECT_EQ(made->record.layers.Names(), std::vector<std::string>{"tree-kill:subreaper"});
  EXPECT_EQ(made->order.flags, 0u);
  EXPECT_FALSE(PlanOf(*made).own_pid_namespace || PlanOf(*made).wants_cgroup);
  EXPECT_TRUE(PlanOf(*made).spawn.inherited.empty());
}

TEST_F(LocalBackendTest, ResolvesTheDirectoryInsideTheWorkspace) {
  ExecRequest request = CommandRequest({"true"});
  for (const char* cwd : {"a/b", "/a/b", "/workspace/a/b", "a/./c/../b"}) {
    request.cwd = cwd;
    auto made = Prepare(request, directory_.path());
    ASSERT_TRUE(made) << cwd;
    EXPECT_EQ(made->cwd, directory_.Path("a/b")) << cwd;
  }
  request.cwd = "a/../..";
  const auto outside = Prepare(request, directory_.path());
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kInvalidValue);
}

TEST_F(LocalBackendTest, AMissingWorkspaceIsASetupError) {
  const auto made = Prepare(CommandRequest({"true"}), directory_.Path("missing"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kSetup);
}

TEST_F(LocalBackendTest, TheRecordOfWhatWasNeverPreparedNamesTheCommandAndNoLayer) {
  const ExecRequest request = CommandRequest({"node", "a.js"});
  const RunRecord record = LocalBackend({directory_.path(), {}}).Unprepared(request);
  EXPECT_EQ(record.runtime, "local");
  EXPECT_EQ(record.cmd, "node");
  EXPECT_EQ(record.argv, request.argv);
  EXPECT_TRUE(record.layers.IsEmpty());
}

TEST_F(LocalBackendTest, PutsTheLimitsIntoTheOrder) {
  ExecRequest request = CommandRequest({"true"});
  request.limits.cpu_seconds = 7;
  auto made = Prepare(request, directory_.path());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->order.cpu_seconds, 7u);
  EXPECT_EQ(made->record.layers.Names(),
            (std::vector<std::string>{"tree-kill:subreaper", "rlimits"}));

  request.limits.max_processes = 5;  // could only count all of the user's
  const auto refused = Prepare(request, directory_.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kSetup);
}

}  // namespace
}  // namespace native_runner

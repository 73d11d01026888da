#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/report.h"
#include "supervise/backends/launcher_backends.h"
#include "tests/supervise/support/plans.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace landlock_test {

using Layers = std::vector<std::string>;

bool Has(const std::vector<std::string>& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

class LandlockBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    if (LandlockAbi() == 0) GTEST_SKIP() << NoLandlock().message;
    policy_.shadow_dir = directory_.path();
    policy_.read_dirs = DefaultReadDirs();
    policy_.write_dirs = DefaultWriteDirs();
  }

  Result<Preparation> Prepare(const ExecRequest& request) {
    std::optional<Result<Preparation>> prepared;
    LandlockBackend(policy_).Prepare(request, shared_, [&](Result<Preparation> made) {
      EXPECT_FALSE(prepared);
      prepared = std::move(made);
    });
    return prepared ? std::move(*prepared) : Error{ErrorCode::kClosed, "not called back", ""};
  }

  TempDirectory directory_;
  LandlockPolicy policy_;
  SupervisorContext shared_;
};

TEST_F(LandlockBackendTest, OrdersEverythingOfTheLauncherAlone) {
  auto made = Prepare(CommandRequest({"node", "a.js"}));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->order.flags, kOrderLandlock | kOrderScoped | kOrderNoNewPrivs | kOrderSeccomp |
                                   kOrderDropCapabilities | kOrderNoCapabilities | kOrderMakeInit |
                                   kOrderNoSockets);
  EXPECT_TRUE(made->order.required.IsEmpty());
  EXPECT_TRUE(PlanOf(*made).spawn.inherited.empty());
  EXPECT_FALSE(PlanOf(*made).own_pid_namespace) << "only the launcher can tell";
  EXPECT_TRUE(Has(made->rules, "r" + directory_.path()));
  EXPECT_TRUE(Has(made->rules, "w" + directory_.path()));
  EXPECT_TRUE(Has(made->rules, "w/tmp"));
  EXPECT_TRUE(Has(made->rules, "r/usr"));
}

TEST_F(LandlockBackendTest, TheRecordHasTheCommandAndOnlyWhatIsCertain) {
  const ExecRequest request = CommandRequest({"node", "a.js"});
  auto made = Prepare(request);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->record.runtime, "landlock");
  EXPECT_EQ(made->record.cmd, "node");
  EXPECT_EQ(made->record.argv, request.argv);
  EXPECT_EQ(made->record.cwd, directory_.path());
  Layers layers = {"no-capabilities", "no-new-privs", "seccomp", "no-sockets"};
  if (geteuid() == 0) layers.emplace_back("secrets-masked");
  EXPECT_EQ(made->record.layers.Names(), layers);
}

TEST_F(LandlockBackendTest, WhoMayUseTheNetworkHasSockets) {
  policy_.network = Network::kAllow;
  auto made = Prepare(CommandRequest({"true"}));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->order.flags & kOrderNoSockets, 0u);
  EXPECT_FALSE(Has(made->record.layers.Names(), "no-sockets"));
}

TEST_F(LandlockBackendTest, StartsInsideTheWorkspaceByItsRealPath) {
  std::filesystem::create_directories(directory_.Path("real/a"));
  std::filesystem::create_symlink("real", directory_.Path("link"));
  policy_.shadow_dir = directory_.Path("link");
  ExecRequest request = CommandRequest({"true"});
  request.cwd = "/workspace/a";
  auto made = Prepare(request);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->cwd, directory_.Path("real/a"));
  EXPECT_TRUE(Has(made->rules, "w" + directory_.Path("real")));

  request.cwd = "../outside";
  const auto outside = Prepare(request);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kInvalidValue);
}

TEST_F(LandlockBackendTest, WhatCannotBePreparedIsASetupError) {
  policy_.read_dirs = {directory_.Path("missing")};
  policy_.read_dirs_named = true;
  const auto rules = Prepare(CommandRequest({"true"}));
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, ErrorCode::kSetup);

  policy_.shadow_dir = directory_.Path("missing");
  const auto workspace = Prepare(CommandRequest({"true"}));
  ASSERT_FALSE(workspace);
  EXPECT_EQ(workspace.error().code, ErrorCode::kSetup);
  EXPECT_NE(workspace.error().message.find("shadowDir"), std::string::npos);

  policy_.shadow_dir = directory_.path();
  policy_.read_dirs_named = false;
  ExecRequest request = CommandRequest({"true"});
  request.limits.max_processes = 5;  // without a cgroup all of the user's would be counted
  EXPECT_FALSE(Prepare(request));

  ExecRequest session = CommandRequest({"session"});
  session.kind = SessionSandbox{};
  EXPECT_TRUE(Prepare(session));
  session.limits.memory_bytes = 1 << 20;  // the size of its /tmp
  const auto bounded = Prepare(session);
  ASSERT_FALSE(bounded);
  EXPECT_EQ(bounded.error().code, ErrorCode::kSetup);
}

TEST_F(LandlockBackendTest, WhatOnlyTheKernelCanTellIsLeftToTheLauncher) {
  policy_.required = {"landlock-fs", "landlock-tcp", "landlock-scope", "pid-namespace", "seccomp"};
  auto made = Prepare(CommandRequest({"true"}));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->order.required, (LayerSet{Layer::kLandlockFiles, Layer::kLandlockTcp,
                                            Layer::kLandlockScope, Layer::kPidNamespace}));

  policy_.network = Network::kAllow;  // then nothing bars TCP
  const auto refused = Prepare(CommandRequest({"true"}));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("landlock-tcp"), std::string::npos);
}

TEST_F(LandlockBackendTest, TheRecordOfWhatWasNeverPreparedHasNoLayer) {
  const ExecRequest request = CommandRequest({"node", "a.js"});
  const RunRecord record = LandlockBackend(policy_).Unprepared(request);
  EXPECT_EQ(record.runtime, "landlock");
  EXPECT_EQ(record.cmd, "node");
  EXPECT_EQ(record.argv, request.argv);
  EXPECT_TRUE(record.layers.IsEmpty());
}

TEST_F(LandlockBackendTest, PreparingLeavesNothingOpen) {
  const int before = CountDescriptors();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(Prepare(CommandRequest({"true"})));
  EXPECT_EQ(CountDescriptors(), before);
}

TEST(NoLandlock, NamesTheKernelAndTheNeed) {
  utsname kernel{};
  ASSERT_EQ(uname(&kernel), 0);
  const Error error = NoLandlock();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_NE(error.message.find(kernel.release), std::string::npos);
  EXPECT_NE(error.message.find("5.13"), std::string::npos);
  EXPECT_NE(error.fix.find("lsm="), std::string::npos);
}

}  // namespace landlock_test
}  // namespace native_runner

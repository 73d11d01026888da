#include "supervise/backends/bubblewrap_backend.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/text/path.h"
#include "supervise/os/descriptor.h"
#include "tests/supervise/support/plans.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

bool Has(const Texts& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

// Returns the index in `list` at which `sequence` starts; -1 if it does not occur.
int IndexOf(const Texts& list, const Texts& sequence) {
  const auto at = std::search(list.begin(), list.end(), sequence.begin(), sequence.end());
  return at == list.end() ? -1 : static_cast<int>(at - list.begin());
}

Texts SplitAtNul(const std::string& text) {
  Texts parts;
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    parts.emplace_back(text.c_str() + at);
  }
  return parts;
}

class BubblewrapBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    program_.path = "/opt/bwrap";
    shared_.launcher = std::move(OpenPath("/dev/null", O_RDONLY).value());
    program_.features = {
        .bind_fd = true, .disable_userns = true, .as_pid_1 = true, .size = true, .perms = true};
    policy_ = SandboxPolicy(directory_.path());
  }

  Result<Preparation> Plan(const ExecRequest& request) {
    const HostView view{host_, shared_.host_watch.State()};
    return BubblewrapBackend(policy_).Plan(request, program_, shared_, view);
  }
  Result<Preparation> Plan() { return Plan(CommandRequest({"node", "a.js"})); }

  // Returns the options that bwrap reads from --args.
  static Texts Options(const Preparation& made) {
    if (!PlanOf(made).options.empty()) return SplitAtNul(PlanOf(made).options);
    for (const Inherited& inherited : PlanOf(made).spawn.inherited) {
      if (inherited.number == 4) return SplitAtNul(ReadToEnd(inherited.source));
    }
    return {};
  }

  static bool Inherits(const Preparation& made, int number) {
    return std::any_of(PlanOf(made).spawn.inherited.begin(), PlanOf(made).spawn.inherited.end(),
                       [number](const Inherited& each) { return each.number == number; });
  }

  TempDirectory directory_;
  Program program_;
  BubblewrapPolicy policy_;
  Host host_;
  SupervisorContext shared_;
};

TEST_F(BubblewrapBackendTest, StartsBwrapWithTheLauncherAsItsCommand) {
  auto made = Plan();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(PlanOf(*made).spawn.path, "/opt/bwrap");
  EXPECT_EQ(PlanOf(*made).spawn.argv, (Texts{"bwrap", "--args", "4", "--", "/proc/self/fd/5"}));
  EXPECT_TRUE(PlanOf(*made).own_pid_namespace);
  EXPECT_EQ(made->order.flags,
            kOrderIsInit | kOrderNoCapabilities | kOrderNoNewPrivs | kOrderSeccomp);
  const auto& inherited = PlanOf(*made).spawn.inherited;
  EXPECT_TRUE(std::any_of(inherited.begin(), inherited.end(), [this](const Inherited& each) {
    return each.source == shared_.launcher.get() && each.number == 5;
  }));
  EXPECT_FALSE(PlanOf(*made).gate.descriptor.valid());
}

TEST_F(BubblewrapBackendTest, TheWorkspaceIsBoundByItsDescriptorWhereBwrapCan) {
  auto made = Plan();
  ASSERT_TRUE(made);
  EXPECT_TRUE(Inherits(*made, 6));
  EXPECT_GE(IndexOf(Options(*made), {"--bind-fd", "6", "/workspace"}), 0);

  program_.features.bind_fd = false;
  auto by_path = Plan();
  ASSERT_TRUE(by_path);
  EXPECT_FALSE(Inherits(*by_path, 6));
  EXPECT_GE(IndexOf(Options(*by_path), {"--bind", directory_.path(), "/workspace"}), 0);
}

TEST_F(BubblewrapBackendTest, TheRecordTellsOfATmpThatAMemoryLimitCouldNotSize) {
  const auto layers = [this](bool limited) {
    ExecRequest request = CommandRequest({"true"});
    if (limited) request.limits.memory_bytes = 1 << 20;
    auto made = Plan(request);
    return made ? made->record.layers.Names() : Texts{};
  };
  const auto tells = [](const Texts& names) {
    return std::find(names.begin(), names.end(), "tmp-without-size") != names.end();
  };
  EXPECT_FALSE(layers(true).empty());
  EXPECT_FALSE(tells(layers(true)));
  program_.features.size = false;
  EXPECT_TRUE(tells(layers(true)));
  EXPECT_FALSE(tells(layers(false))) << "nothing was asked for";
  program_.features.size = true;
  policy_.isolation = Isolation::kCompat;
  EXPECT_TRUE(tells(layers(true)));
}

TEST_F(BubblewrapBackendTest, ABwrapThatLacksAnOptionIsToldByTheOptionNotByAVersion) {
  program_.features.as_pid_1 = false;
  const auto made = Plan();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(made.error().message, "/opt/bwrap lacks --as-pid-1");
  EXPECT_EQ(made.error().fix, "install a bwrap whose --help lists --as-pid-1");
  program_.features.as_pid_1 = true;
  program_.features.perms = false;
  policy_.with_proc = false;
  const auto without_proc = Plan();
  ASSERT_FALSE(without_proc);
  EXPECT_EQ(without_proc.error().message, "/opt/bwrap lacks --perms, which procBind: false needs");
}

TEST_F(BubblewrapBackendTest, ASessionThatWasToHaveABoundIsRefusedWithoutOne) {
  ExecRequest request = CommandRequest({"session"});
  request.kind = SessionSandbox{};
  program_.features.size = false;
  EXPECT_TRUE(Plan(request)) << "none was asked for";
  request.limits.memory_bytes = 1 << 20;
  const auto made = Plan(request);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "/opt/bwrap lacks --size, which tmpBytes needs");
  program_.features.size = true;
  EXPECT_TRUE(Plan(request));
}

TEST_F(BubblewrapBackendTest, TheRecordShowsPathsAndTheCommand) {
  ExecRequest request = CommandRequest({"node", "a.js"});
  request.cwd = "sub/dir";
  auto made = Plan(request);
  ASSERT_TRUE(made);
  const RunRecord& record = made->record;
  EXPECT_EQ(record.runtime, "bubblewrap");
  EXPECT_EQ(record.cmd, "bwrap");
  EXPECT_EQ(record.cwd, "sub/dir");
  EXPECT_GE(IndexOf(record.argv, {"--bind", directory_.path(), "/workspace"}), 0);
  EXPECT_GE(IndexOf(record.argv, {"--chdir", "/workspace/sub/dir"}), 0);
  EXPECT_EQ(IndexOf(record.argv, {"--", "node", "a.js"}), static_cast<int>(record.argv.size()) - 3);
  EXPECT_FALSE(Has(record.argv, "--bind-fd"));
  for (const char* layer : {"mount-namespace", "user-namespace", "pid-namespace",
                            "network-namespace", "no-capabilities", "no-new-privs", "seccomp",
                            "userns-disabled", "tree-kill:pid-namespace"}) {
    EXPECT_TRUE(Has(record.layers.Names(), layer)) << layer;
  }
  EXPECT_FALSE(Has(record.layers.Names(), "rlimits"));
}

TEST_F(BubblewrapBackendTest, TheRecordOfWhatWasNeverPreparedHasNoLayer) {
  ExecRequest request = CommandRequest({"node", "a.js"});
  request.cwd = "sub";
  const RunRecord record = BubblewrapBackend(policy_).Unprepared(request);
  EXPECT_EQ(record.runtime, "bubblewrap");
  EXPECT_EQ(record.cmd, "bwrap");
  EXPECT_EQ(record.cwd, "sub");
  EXPECT_GE(IndexOf(record.argv, {"--chdir", "/workspace/sub"}), 0);
  EXPECT_EQ(IndexOf(record.argv, {"--", "node", "a.js"}), static_cast<int>(record.argv.size()) - 3);
  EXPECT_TRUE(record.layers.IsEmpty());
}

TEST_F(BubblewrapBackendTest, CompatMakesNoPidNamespace) {
  policy_.isolation = Isolation::kCompat;
  auto made = Plan();
  ASSERT_TRUE(made);
  EXPECT_FALSE(PlanOf(*made).own_pid_namespace);
  EXPECT_EQ(made->order.flags, kOrderNoNewPrivs | kOrderSeccomp);
  EXPECT_TRUE(Has(made->record.layers.Names(), "tree-kill:subreaper"));
  EXPECT_FALSE(Has(made->record.layers.Names(), "pid-namespace"));
  EXPECT_FALSE(Has(Options(*made), "--as-pid-1"));
}

TEST_F(BubblewrapBackendTest, ABwrapWithoutAsPid1ServesCompatOnly) {
  program_.features.as_pid_1 = false;
  const auto strict = Plan();
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(strict.error().message.find("/opt/bwrap"), std::string::npos);
  policy_.isolation = Isolation::kCompat;
  EXPECT_TRUE(Plan());
}

TEST_F(BubblewrapBackendTest, WithoutProcTheLauncherIsReadFromADescriptorOfTheRunsOwn) {
  policy_.with_proc = false;
  shared_.launcher = std::move(MemoryFile("image", "launcher", 8, true).value());
  for (int run = 0; run < 2; ++run) {
    auto made = Plan();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(PlanOf(*made).spawn.argv, (Texts{"bwrap", "--args", "4", "--", kLauncherFile}));
    EXPECT_GE(IndexOf(Options(*made), {"--ro-bind-data", "5", kLauncherFile}), 0);
    EXPECT_FALSE(Has(Options(*made), "--proc"));
    EXPECT_FALSE(Has(made->record.argv, kLauncherFile)) << "the record names the command alone";
    EXPECT_TRUE(Has(made->record.layers.Names(), "no-proc"));
    const auto& inherited = PlanOf(*made).spawn.inherited;
    const auto launcher = std::find_if(inherited.begin(), inherited.end(),
                                       [](const Inherited& each) { return each.number == 5; });
    ASSERT_NE(launcher, inherited.end());
    EXPECT_NE(launcher->source, shared_.launcher.get());
    EXPECT_EQ(ReadToEnd(launcher->source), "launcher");  // from its beginning, each time
  }

  program_.features.perms = false;
  const auto refused = Plan();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("procBind"), std::string::npos);
}

TEST_F(BubblewrapBackendTest, RefusesWhatItCannotDo) {
  ExecRequest request = CommandRequest({"true"});
  request.cwd = "../outside";
  const auto outside = Plan(request);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kInvalidValue);

  policy_.ro_binds = {directory_.Path("missing")};
  policy_.ro_binds_named = true;
  const auto bind = Plan();
  ASSERT_FALSE(bind);
  EXPECT_EQ(bind.error().code, ErrorCode::kSetup);

  policy_.shadow_dir = directory_.Path("missing");
  const auto workspace = Plan();
  ASSERT_FALSE(workspace);
  EXPECT_EQ(workspace.error().code, ErrorCode::kSetup);
}

TEST_F(BubblewrapBackendTest, ACgroupHoldsBwrapBackUntilItIsIn) {
  shared_.cgroups = CgroupParent("/nonexistent", {.memory = true, .pids = true});
  ExecRequest request = CommandRequest({"true"});
  request.limits.memory_bytes = 1 << 30;
  auto made = Plan(request);
  ASSERT_TRUE(made);
  EXPECT_TRUE(PlanOf(*made).wants_cgroup);
  EXPECT_TRUE(Has(made->record.layers.Names(), "cgroup"));
  EXPECT_FALSE(BubblewrapBackend(policy_).AttachOptions(&PlanOf(*made)));
  ASSERT_TRUE(PlanOf(*made).gate.descriptor.valid());
  const std::string& bytes = PlanOf(*made).gate.bytes;
  ASSERT_EQ(write(PlanOf(*made).gate.descriptor.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  PlanOf(*made).gate.descriptor.Close();
  const Texts options = Options(*made);
  EXPECT_TRUE(Has(options, "/workspace"));
  EXPECT_GE(IndexOf(options, {"--size", std::to_string(1 << 30), "--tmpfs", "/tmp"}), 0);
}

TEST_F(BubblewrapBackendTest, ProcessesAreLimitedWhereTheyCanBeCounted) {
  ExecRequest request = CommandRequest({"true"});
  request.limits.max_processes = 5;
  auto made = Plan(request);
  EXPECT_EQ(made.ok(), geteuid() != 0);  // RLIMIT_NPROC does not bind uid 0
  EXPECT_EQ(made ? made->order.processes : 6u, 6u);
}

TEST_F(BubblewrapBackendTest, PlanningLeavesNothingOpen) {
  EXPECT_TRUE(Plan());  // opens what the host is watched by
  const int before = CountDescriptors();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(Plan());
  EXPECT_EQ(CountDescriptors(), before);
}

}  // namespace
}  // namespace native_runner

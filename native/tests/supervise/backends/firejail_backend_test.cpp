#include "supervise/backends/firejail_backend.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/supervise/support/plans.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace firejail_test {

using Texts = std::vector<std::string>;

bool Has(const Texts& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

// Decisions before anything is started, which need no firejail.
class FirejailBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    if (getpwuid(getuid()) == nullptr) GTEST_SKIP() << "this user has no account";
    shared_.programs = std::make_unique<Programs>(nullptr, -1, "/usr/bin:/bin");
    policy_.firejail_path = "/bin/sh";
    policy_.shadow_dir = directory_.path();
    policy_.read_dirs = DefaultFirejailReadDirs();
  }

  Result<Preparation> Prepare(const ExecRequest& request) {
    std::optional<Result<Preparation>> prepared;
    FirejailBackend(policy_).Prepare(request, shared_, [&](Result<Preparation> made) {
      EXPECT_FALSE(prepared);
      prepared = std::move(made);
    });
    return prepared ? std::move(*prepared) : Error{ErrorCode::kClosed, "not called back", ""};
  }
  Result<Preparation> Prepare() { return Prepare(CommandRequest({"node", "a.js"})); }

  Error Refusal() {
    auto made = Prepare();
    EXPECT_FALSE(made);
    return made ? Error{} : made.error();
  }

  TempDirectory directory_;
  SupervisorContext shared_;
  FirejailPolicy policy_;
};

TEST_F(FirejailBackendTest, StartsFirejailWithTheLauncherAsItsCommand) {
  auto made = Prepare();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(PlanOf(*made).spawn.path, "/bin/sh");
  const Texts& argv = PlanOf(*made).spawn.argv;
  EXPECT_EQ(argv[0], "firejail");
  EXPECT_EQ(Texts(argv.end() - 2, argv.end()), (Texts{"--", "/proc/self/fd/5"}));
  EXPECT_TRUE(Has(argv, "--keep-fd=3,5"));
  ASSERT_EQ(PlanOf(*made).spawn.inherited.size(), 1u);
  EXPECT_EQ(PlanOf(*made).spawn.inherited[0].number, 5);
  EXPECT_EQ(made->cwd, directory_.path());
  // The end of the launcher is not the end of the namespace: its init is Firejail.
  EXPECT_FALSE(PlanOf(*made).own_pid_namespace);
}

TEST_F(FirejailBackendTest, RecordsTheCommandInTheLaunchersPlace) {
  auto made = Prepare();
  ASSERT_TRUE(made);
  const Texts& argv = made->record.argv;
  EXPECT_EQ(made->record.runtime, "firejail");
  EXPECT_EQ(made->record.cmd, "/bin/sh");
  EXPECT_EQ(Texts(argv.end() - 3, argv.end()), (Texts{"--", "node", "a.js"}));
  EXPECT_TRUE(std::equal(argv.begin(), argv.end() - 3, PlanOf(*made).spawn.argv.begin() + 1));
  EXPECT_EQ(made->record.cwd, directory_.path());
}

TEST_F(FirejailBackendTest, HasTheLauncherCheckAllThatItClaims) {
  auto made = Prepare();
  ASSERT_TRUE(made);
  Texts claimed = {"mount-namespace", "pid-namespace", "network-namespace", "no-capabilities",
                   "no-new-privs",    "seccomp",       "hidden-files",      "read-only-root"};
  if (geteuid() == 0) claimed.emplace_back("secrets-masked");
  EXPECT_EQ(made->record.layers.Names(), claimed);
  EXPECT_EQ(made->order.flags, kOrderOwnMountNamespace | kOrderOwnPidNamespace |
                                   kOrderOwnNetworkNamespace | kOrderNoCapabilities |
                                   kOrderNoNewPrivs | kOrderSeccomp | kOrderCheckFiles);
  struct stat own {};
  ASSERT_EQ(stat("/proc/self/ns/mnt", &own), 0);
  EXPECT_EQ(made->order.mount_namespace, own.st_ino);
  ASSERT_EQ(stat("/proc/self/ns/pid", &own), 0);
  EXPECT_EQ(made->order.pid_namespace, own.st_ino);
  ASSERT_EQ(stat("/proc/self/ns/net", &own), 0);
  EXPECT_EQ(made->order.network_namespace, own.st_ino);
}

TEST_F(FirejailBackendTest, TellsTheLauncherWhatTheHostHas) {
  auto made = Prepare();
  ASSERT_TRUE(made);
  const auto rule = [](char kind, const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return kind + std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" + path;
  };
  EXPECT_TRUE(Has(made->rules, rule(kRuleShown, directory_.path())));
  EXPECT_TRUE(Has(made->rules, rule(kRuleHidden, "/dev")));
  EXPECT_TRUE(Has(made->rules, rule(kRuleHidden, "/var")));
  EXPECT_TRUE(Has(made->rules, "o/"));
  EXPECT_TRUE(Has(made->rules, "o/usr"));
  EXPECT_FALSE(Has(made->rules, rule(kRuleHidden, "/usr")));
  EXPECT_EQ(Has(made->rules, "o/run/firejail"), geteuid() == 0);
}

TEST_F(FirejailBackendTest, LeavesTheNetworkAloneWhereItIsAllowed) {
  policy_.network = Network::kAllow;
  auto made = Prepare();
  ASSERT_TRUE(made);
  EXPECT_FALSE(Has(PlanOf(*made).spawn.argv, "--net=none"));
  EXPECT_FALSE(Has(made->record.layers.Names(), "network-namespace"));
  EXPECT_EQ(made->order.flags & kOrderOwnNetworkNamespace, 0u);
}

TEST_F(FirejailBackendTest, NeitherClaimsNorChecksWhatAnOptionUndoes) {
  policy_.extra_args = {"--noblacklist=/var", "--caps.keep=chown", "--hostname=box"};
  auto made = Prepare();
  ASSERT_TRUE(made);
  const Texts layers = made->record.layers.Names();
  EXPECT_TRUE(Has(layers, "opened:--noblacklist=/var") && Has(layers, "opened:--caps.keep=chown"));
  EXPECT_FALSE(Has(layers, "opened:--hostname=box"));
  EXPECT_FALSE(Has(layers, "hidden-files") || Has(layers, "no-capabilities"));
  EXPECT_TRUE(Has(layers, "read-only-root"));
  EXPECT_EQ(made->order.flags & kOrderNoCapabilities, 0u);
  EXPECT_TRUE(std::none_of(made->rules.begin(), made->rules.end(),
                           [](const std::string& rule) { return rule[0] == kRuleHidden; }));

  policy_.required = {"hidden-files"};
  const Error refused = Refusal();
  EXPECT_EQ(refused.code, ErrorCode::kSetup);
  EXPECT_NE(refused.message.find("--noblacklist=/var"), std::string::npos) << refused.message;
}

TEST_F(FirejailBackendTest, LeavesFilesToAProfile) {
  policy_.profile = "/etc/firejail/mine.profile";
  auto made = Prepare();
  ASSERT_TRUE(made);
  EXPECT_TRUE(Has(PlanOf(*made).spawn.argv, "--profile=/etc/firejail/mine.profile"));
  EXPECT_FALSE(Has(made->record.layers.Names(), "hidden-files"));
  EXPECT_TRUE(made->rules.empty());
  EXPECT_EQ(made->order.flags & kOrderCheckFiles, 0u);
}

TEST_F(FirejailBackendTest, SkipsADefaultThatIsMissingAndInsistsOnWhatIsNamed) {
  policy_.read_dirs = {"/usr", "/not/there"};
  EXPECT_TRUE(Prepare());
  policy_.read_dirs_named = true;
  EXPECT_NE(Refusal().message.find("fsReadDirs names \"/not/there\""), std::string::npos);
  policy_.read_dirs = {"/usr"};
  policy_.write_dirs = {"/not/there"};
  EXPECT_NE(Refusal().message.find("fsWriteDirs names \"/not/there\""), std::string::npos);
}

TEST_F(FirejailBackendTest, RefusesWhatCannotBeSetUp) {
  policy_.shadow_dir = directory_.Path("missing");
  EXPECT_EQ(Refusal().code, ErrorCode::kSetup);
  std::filesystem::create_directory(directory_.Path("a*"));
  policy_.shadow_dir = directory_.Path("a*");
  EXPECT_NE(Refusal().message.find("special character"), std::string::npos);
  policy_.shadow_dir = directory_.path();
  policy_.firejail_path = "/not/there/firejail";
  const Error missing = Refusal();
  EXPECT_EQ(missing.code, ErrorCode::kUnavailable);
  EXPECT_NE(missing.fix.find("apt-get install firejail"), std::string::npos) << missing.fix;
}

TEST_F(FirejailBackendTest, TheRecordOfWhatWasNeverPreparedHasNoLayer) {
  const RunRecord record = FirejailBackend(policy_).Unprepared(CommandRequest({"node", "a.js"}));
  EXPECT_EQ(record.runtime, "firejail");
  EXPECT_TRUE(record.layers.IsEmpty());
  EXPECT_EQ(Texts(record.argv.end() - 3, record.argv.end()), (Texts{"--", "node", "a.js"}));
}

}  // namespace firejail_test
}  // namespace native_runner

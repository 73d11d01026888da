// Runs whose network is by domain: that they have one of their own, whose listeners are ours.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "supervise/network/sandbox_network.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

std::shared_ptr<const NetworkPolicy> Allowing(Texts allow) {
  auto rules = ReadNetworkRules({std::move(allow), {}, {}, false});
  EXPECT_TRUE(rules) << rules.error().message;
  return std::make_shared<const NetworkPolicy>(NetworkPolicy{std::move(*rules), 0});
}

class ByDomainTest : public testing::TestWithParam<Isolation> {
 protected:
  void SetUp() override {
    if (!SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
    policy_ = SandboxPolicy(workspace_.path(), GetParam());
    policy_.network = Network::kByDomain;
    policy_.by_domain = Allowing({"a.test", "b.test:2222"});
  }

  RunResult Shell(const std::string& script) {
    RunHost host;
    host.shared.launcher = std::move(SealedCopy(LauncherPath()).value());
    return host.Execute(std::make_shared<BubblewrapBackend>(policy_), ShellRequest(script));
  }

  static std::string Out(const RunResult& result) {
    EXPECT_FALSE(result.rejection) << result.rejection->message;
    EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
    return Text(result.out.bytes) + Text(result.err.bytes);
  }

  TempDirectory workspace_;
  BubblewrapPolicy policy_;
};

// Prints the listening ports of /proc/net/tcp and tcp6, in hexadecimal.
constexpr const char* kListening =
    "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '$4 == \"0A\" { sub(\".*:\", \"\", $2); "
    "print $2 }' | sort | tr '\\n' ' '";

TEST_P(ByDomainTest, TheListenersAreThereBeforeTheCommand) {
  EXPECT_EQ(Out(Shell(kListening)), "0035 0050 01BB 08AE 0C38 ");
  EXPECT_EQ(Out(Shell("awk 'NR > 1 { print $2 }' /proc/net/udp")), "0100007F:0035\n");
}

TEST_P(ByDomainTest, ItIsNotTheHostsNetwork) {
  const std::string here = std::filesystem::read_symlink("/proc/self/ns/net").string();
  const std::string there = Out(Shell("readlink /proc/self/ns/net"));
  EXPECT_NE(there, here + "\n");
  EXPECT_NE(there, "");
  EXPECT_EQ(Out(Shell("awk -F: 'NR > 2 { gsub(\" \", \"\", $1); print $1 }' /proc/net/dev")),
            "lo\n");
  policy_.network = Network::kAllow;
  EXPECT_EQ(Out(Shell("readlink /proc/self/ns/net")), here + "\n") << "the control";
}

TEST_P(ByDomainTest, ARunHasALogAndSaysSoInItsLayers) {
  const RunResult result = Shell("exit 0");
  ASSERT_TRUE(result.connections);
  EXPECT_TRUE(result.connections->connections.empty());
  const Texts names = result.record.layers.Names();
  for (const char* layer : {"network-namespace", "network-by-domain"})
    EXPECT_TRUE(std::find(names.begin(), names.end(), layer) != names.end()) << layer;
  policy_.network = Network::kDeny;
  EXPECT_FALSE(Shell("exit 0").connections) << "the control";
}

TEST_P(ByDomainTest, WithoutRulesNothingRuns) {
  policy_.by_domain = nullptr;
  const RunResult result = Shell("touch /workspace/ran");
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kSetupFailed);
  EXPECT_FALSE(std::filesystem::exists(workspace_.Path("ran")));
}

TEST_P(ByDomainTest, ManyRunsLeaveNothingBehind) {
  RunHost host;
  const auto runtime = std::make_shared<BubblewrapBackend>(policy_);
  host.Execute(runtime, ShellRequest("true"));
  const int before = CountDescriptors();
  for (int turn = 0; turn < 5; ++turn)
    EXPECT_EQ(host.Execute(runtime, ShellRequest("exit 3")).outcome.exit_code, 3);
  EXPECT_EQ(CountDescriptors(), before);
}

// SO_NETNS_COOKIE is of Linux 5.14.
bool KernelTellsCookies() {
  OrderHeader order;
  return !OrderOwnNetwork(&order) && order.network_cookie != 0;
}

TEST_P(ByDomainTest, WithoutAProcThereIsAProofToo) {
  if (GetParam() == Isolation::kCompat) GTEST_SKIP() << "it has a /proc";
  policy_.with_proc = false;
  if (!KernelTellsCookies()) {
    const auto runtime = std::make_shared<BubblewrapBackend>(policy_);
    const Outcome refused = RunHost().Execute(runtime, ShellRequest("true")).outcome;
    EXPECT_EQ(refused.kind, OutcomeKind::kSetupFailed);
    EXPECT_NE(refused.reason.find("only Linux 5.14 or newer"), std::string::npos) << refused.reason;
    return;
  }
  const RunResult result = Shell("[ ! -e /proc/self ] && cat /etc/resolv.conf");
  EXPECT_EQ(Out(result), "nameserver 127.0.0.1\noptions timeout:30 attempts:2\n");
  EXPECT_TRUE(result.connections);
}

// Another runtime's sandboxes, which are to refuse the host's network.
class Proving : public Backend {
 public:
  explicit Proving(std::shared_ptr<const Backend> inner) : inner_(std::move(inner)) {}
  RunRecord Unprepared(const ExecRequest& request) const override {
    return inner_->Unprepared(request);
  }
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override {
    inner_->Prepare(request, shared, [ready = std::move(ready)](Result<Preparation> made) {
      EXPECT_TRUE(made);
      EXPECT_FALSE(OrderOwnNetwork(&made->order));
      ready(std::move(made));
    });
  }
  std::optional<Error> AttachOptions(SpawnPlan* plan) const override {
    return inner_->AttachOptions(plan);
  }

 private:
  std::shared_ptr<const Backend> inner_;
};

TEST_P(ByDomainTest, TheLauncherInsideRefusesTheHostsNetwork) {
  for (const bool with_proc : {true, false}) {
    if (!with_proc && (GetParam() == Isolation::kCompat || !KernelTellsCookies())) continue;
    policy_.with_proc = with_proc;
    const auto run = [this](Network network) {
      policy_.network = network;
      return RunHost().Execute(
          std::make_shared<Proving>(std::make_shared<BubblewrapBackend>(policy_)),
          ShellRequest("touch /workspace/ran"));
    };
    const RunResult refused = run(Network::kAllow);
    EXPECT_EQ(refused.outcome.kind, OutcomeKind::kSetupFailed);
    EXPECT_NE(refused.outcome.reason.find("network-namespace: the command would run in the host's"),
              std::string::npos)
        << refused.outcome.reason;
    EXPECT_FALSE(std::filesystem::exists(workspace_.Path("ran")));
    EXPECT_EQ(run(Network::kDeny).outcome.kind, OutcomeKind::kExited) << "the control";
    EXPECT_TRUE(std::filesystem::remove(workspace_.Path("ran")));
  }
}

TEST_P(ByDomainTest, APrewarmedSandboxIsOfTheSameRulesAndAskerAlone) {
  if (GetParam() == Isolation::kCompat) GTEST_SKIP() << "none stands";
  const auto fingerprint = [this] {
    RunHost host;
    ExecRequest request = ShellRequest("true");
    request.allow_prewarmed = true;
    std::string seen;
    bool is_done = false;
    const BubblewrapBackend runtime(policy_);
    runtime.Prepare(request, host.shared, [&](Result<Preparation> made) {
      EXPECT_TRUE(made);
      const Fingerprint& all = std::get_if<SpawnPlan>(&made->plan)->fingerprint;
      seen = all.host + std::to_string(all.asker);
      is_done = true;
    });
    EXPECT_TRUE(host.loop().RunUntil([&] { return is_done; }));
    return seen.substr(seen.find("--die-with-parent"));
  };
  const std::string one = fingerprint();
  EXPECT_NE(one.find("allow a.test"), std::string::npos);
  EXPECT_EQ(fingerprint(), one) << "the control";
  policy_.by_domain = Allowing({"a.test"});
  EXPECT_NE(fingerprint(), one);
  auto asked = std::make_shared<NetworkPolicy>(*Allowing({"a.test", "b.test:2222"}));
  asked->asker = 7;
  policy_.by_domain = asked;
  EXPECT_NE(fingerprint(), one);
}

// Prints what programs inside read of the files by which they resolve names.
constexpr const char* kNames =
    "cat /etc/resolv.conf; grep -cw localhost /etc/hosts | sed s/[1-9]/named/; "
    "grep a.test /etc/hosts; grep hosts: /etc/nsswitch.conf | tr -s ' '";
constexpr const char* kOwnNames =
    "nameserver 127.0.0.1\noptions timeout:30 attempts:2\nnamed\nhosts: files dns\n";

// arm64 has no /lib64.
Texts ProgramsOfHost() {
  Texts places = {"/usr", "/bin", "/lib"};
  if (std::filesystem::exists("/lib64")) places.emplace_back("/lib64");
  return places;
}

TEST_P(ByDomainTest, NamesAreFoundByOurFilesWhateverIsBound) {
  const auto expect_own = [this](const std::string& what) {
    EXPECT_EQ(Out(Shell(kNames)), kOwnNames) << what;
  };
  expect_own("by default");
  policy_.ro_binds_named = true;
  policy_.ro_binds = ProgramsOfHost();
  expect_own("without an /etc");
  policy_.ro_binds.insert(policy_.ro_binds.end(), {"/etc/passwd", "/etc/alternatives"});
  expect_own("with a part of /etc");
  if (GetParam() == Isolation::kStrict) return;  // a bind of "/" has to bring /workspace there
  policy_.ro_binds = {"/"};
  if (std::filesystem::exists("/workspace")) expect_own("with all of the host");
}

// An /etc of the test's own, as hosts have it.
class NamesTest : public ByDomainTest {
 protected:
  void SetUp() override {
    ByDomainTest::SetUp();
    policy_.ro_binds_named = true;
    policy_.ro_binds = ProgramsOfHost();
    std::filesystem::create_directory(etc_.Path("etc"));
    Write("hosts", "10.1.2.3 a.test\n");
    Write("nsswitch.conf", "passwd: files\nhosts:  resolve [!UNAVAIL=return] files dns\n");
    Mount(false);
  }

  void Mount(bool writable) {
    HostMount mount;
    mount.host_path = etc_.Path("etc");
    mount.guest_path = "/etc";
    mount.writable = writable;
    policy_.mounts = {mount};
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(etc_.Path("etc/" + name)) << text;
  }
  void Link(const std::string& name, const std::string& target) const {
    std::filesystem::remove(etc_.Path("etc/" + name));
    std::filesystem::create_symlink(target, etc_.Path("etc/" + name));
  }

  // All that there is, with its contents and links.
  std::string Host() const {
    std::set<std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(etc_.path())) {
      std::string line = entry.path().string() + " ";
      if (entry.is_symlink()) {
        line += std::filesystem::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        line += etc_.Read(std::filesystem::relative(entry.path(), etc_.path()).string());
      }
      lines.insert(line);
    }
    std::string all;
    for (const std::string& line : lines)
      all += line + "\n";
    return all;
  }

  TempDirectory etc_;
};

TEST_P(NamesTest, AreOursWhereverTheHostsLinkLeads) {
  Write("own", "nameserver 192.0.2.1\n");
  Link("step", "step2");
  Link("step2", "/etc/own");
  for (const char* target :
       {"own", "/etc/own", "./../etc/own", "step", "../run/x/stub-resolv.conf",
        "/run/systemd/resolve/stub-resolv.conf", "/nowhere/at/all", "/tmp/resolv.conf"}) {
    Link("resolv.conf", target);
    const std::string before = Host();
    EXPECT_EQ(Out(Shell(kNames)), kOwnNames) << target;
    EXPECT_EQ(Host(), before) << target;
  }
}

TEST_P(NamesTest, WhereNoneCanBeMadeThereIsNone) {
  for (const char* target : {"", "missing", "/etc/missing/too", "resolv.conf"}) {
    if (*target != '\0') Link("resolv.conf", target);
    const std::string before = Host();
    const RunResult result = Shell("cat /etc/resolv.conf || echo none; head -1 /etc/hosts");
    EXPECT_NE(Out(result).find("none\n127.0.0.1 localhost"), std::string::npos)
        << target << Out(result);
    EXPECT_EQ(Host(), before) << target;
  }
}

TEST_P(NamesTest, WhatMayBeWrittenIsLeftToItsOwner) {
  Mount(true);
  Write("resolv.conf", "nameserver 192.0.2.1\n");
  const std::string before = Host();
  EXPECT_EQ(Out(Shell("cat /etc/resolv.conf /etc/hosts")),
            "nameserver 192.0.2.1\n10.1.2.3 a.test\n");
  EXPECT_EQ(Host(), before);
}

TEST_P(NamesTest, CannotBeWrittenTo) {
  Write("resolv.conf", "nameserver 192.0.2.1\n");
  const std::string before = Host();
  const std::string tried = Out(
      Shell("for f in resolv.conf hosts nsswitch.conf; do echo x 2>&1 > /etc/$f; rm /etc/$f 2>&1; "
            "mv /workspace /etc/$f 2>&1; done; " +
            std::string(kNames)));
  EXPECT_NE(tried.find(kOwnNames), std::string::npos) << tried;
  EXPECT_EQ(Host(), before);
}

TEST_P(NamesTest, WithoutByDomainTheHostsAreSeen) {
  Write("resolv.conf", "nameserver 192.0.2.1\n");
  policy_.network = Network::kDeny;
  EXPECT_EQ(Out(Shell("cat /etc/resolv.conf /etc/hosts")),
            "nameserver 192.0.2.1\n10.1.2.3 a.test\n");
}

INSTANTIATE_TEST_SUITE_P(Isolations, NamesTest,
                         testing::Values(Isolation::kStrict, Isolation::kCompat),
                         [](const auto& each) {
                           return each.param == Isolation::kStrict ? "Strict" : "Compat";
                         });

INSTANTIATE_TEST_SUITE_P(Isolations, ByDomainTest,
                         testing::Values(Isolation::kStrict, Isolation::kCompat),
                         [](const auto& each) {
                           return each.param == Isolation::kStrict ? "Strict" : "Compat";
                         });

}  // namespace
}  // namespace native_runner

// Which parts of a policy a template has, and which each clone makes for itself.

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

class TemplatePlanTest : public testing::TestWithParam<bool> {
 protected:
  TemplatePlanTest() {
    policy_.shadow_dir = "/host/shadow";
    policy_.ro_binds = {"/usr"};
    policy_.ro_binds_named = true;
    facts_.is_root = GetParam();
    facts_.bwrap_bind_fd = true;
    facts_.bwrap_disable_userns = true;
  }

  bool is_root() const { return facts_.is_root; }

  BubblewrapPlan Sandbox(std::uint64_t tmp_bytes = 0) const {
    return PlanBubblewrap(policy_, facts_, "/real/ws", 6, kWorkspace, tmp_bytes);
  }
  Result<TemplatePlan> Plan(std::uint64_t tmp_bytes = 0) const {
    return PlanTemplate(Sandbox(tmp_bytes), clone_);
  }
  Texts Steps() const {
    auto made = Plan();
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->steps : Texts();
  }
  Texts Options(std::uint64_t tmp_bytes = 0) const {
    auto made = Plan(tmp_bytes);
    EXPECT_TRUE(made) << made.error().message;
    return made ? BubblewrapOptions(made->plan) : Texts();
  }
  std::string Refusal() const {
    auto made = Plan();
    if (made) return "";
    EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
    return made.error().message;
  }

  void Mount(const std::string& guest, bool writable = false) {
    HostMount mount;
    mount.host_path = "/real/data";
    mount.guest_path = guest;
    mount.writable = writable;
    policy_.mounts = {mount};
    facts_.mounts = {"/real/data"};
  }

  BubblewrapPolicy policy_;
  HostFacts facts_;
  CloneFacts clone_{1000, 100, {}};
};

bool HasInOrder(const Texts& options, const Texts& part) {
  return std::search(options.begin(), options.end(), part.begin(), part.end()) != options.end();
}

TEST_P(TemplatePlanTest, EachCloneHasTheStateOfItsOwn) {
  const std::string proc = is_root() ? "Pr/proc" : "P/proc";
  EXPECT_EQ(Steps(), (Texts{proc, "d/dev/pts", "t/tmp", "t/dev/shm", "n", "i1000:100-"}));
}

TEST_P(TemplatePlanTest, BwrapMakesTheRestOnce) {
  EXPECT_EQ(Options(), (Texts{"--die-with-parent",
                              "--new-session",
                              "--unshare-net",
                              "--unshare-user",
                              "--unshare-pid",
                              "--unshare-ipc",
                              "--unshare-uts",
                              "--cap-add",
                              "ALL",
                              "--as-pid-1",
                              "--proc",
                              "/proc",
                              "--dev",
                              "/dev",
                              "--dir",
                              "/tmp",
                              "--ro-bind",
                              "/usr",
                              "/usr",
                              "--dir",
                              kWorkspace,
                              "--remount-ro",
                              "/",
                              "--remount-ro",
                              "/dev",
                              "--bind-fd",
                              "6",
                              kWorkspace,
                              "--chdir",
                              kWorkspace}));
}

// Otherwise each limit of memory would need a template of its own.
TEST_P(TemplatePlanTest, TheSizeOfTmpIsNoneOfItsMatter) {
  EXPECT_TRUE(HasInOrder(BubblewrapOptions(Sandbox(65536)), {"--size", "65536"})) << "the control";
  EXPECT_EQ(Options(65536), Options());
}

TEST_P(TemplatePlanTest, TheNetworkIsEachClonesOrTheHosts) {
  const auto has_own = [this] {
    const Texts steps = Steps();
    return std::count(steps.begin(), steps.end(), "n") == 1;
  };
  EXPECT_TRUE(has_own());
  EXPECT_TRUE(HasInOrder(Options(), {"--unshare-net"}));
  policy_.network = Network::kAllow;
  EXPECT_FALSE(has_own());
  EXPECT_FALSE(HasInOrder(Options(), {"--unshare-net"}));
  policy_.network = Network::kByDomain;
  clone_.network_steps = {"n", "p53,u53"};
  EXPECT_EQ(BubblewrapOptions(Sandbox()), BubblewrapOptions([this] {
              BubblewrapPolicy other = policy_;
              other.network = Network::kAllow;
              return PlanBubblewrap(other, facts_, "/real/ws", 6, kWorkspace, 0);
            }()))
      << "bwrap itself makes none: it is started in one";
  const Texts steps = Steps();
  EXPECT_TRUE(HasInOrder(steps, {"t/dev/shm", "n", "p53,u53", "i1000:100-"}));
  EXPECT_TRUE(HasInOrder(Options(), {"--unshare-net"})) << "the template is in nobody's";
}

TEST_P(TemplatePlanTest, FurtherUserNamespacesAsTheSandboxHasThem) {
  EXPECT_EQ(Steps().back(), "i1000:100-");
  EXPECT_FALSE(HasInOrder(Options(), {"--disable-userns"})) << "its clones could be in none";
  facts_.bwrap_disable_userns = false;
  EXPECT_EQ(Steps().back(), "i1000:100");
}

TEST_P(TemplatePlanTest, MasksStay) {
  facts_.secret_files = {"/usr/secret"};
  facts_.secret_directories = {"/usr/private"};
  const Texts masks = {"--tmpfs",   "/usr/private", "--remount-ro", "/usr/private",
                       "--ro-bind", "/dev/null",    "/usr/secret"};
  EXPECT_EQ(HasInOrder(BubblewrapOptions(Sandbox()), masks), is_root()) << "the control";
  EXPECT_EQ(HasInOrder(Options(), masks), is_root());
  for (const std::string& step : Steps())
    EXPECT_EQ(step.find("private"), std::string::npos) << step;
}

// Only root's /proc is remounted, in each clone and not in the template.
TEST_P(TemplatePlanTest, NothingIsRemountedThatClonesMount) {
  EXPECT_EQ(HasInOrder(BubblewrapOptions(Sandbox()), {"--remount-ro", "/proc"}), is_root());
  EXPECT_FALSE(HasInOrder(Options(), {"--remount-ro", "/proc"}));
}

TEST_P(TemplatePlanTest, MountsOfThePolicyElsewhereAreTheTemplates) {
  for (const bool writable : {false, true}) {
    for (const char* guest : {"/data", "/usr/data", "/workspace/data", "/tmpx", "/process"}) {
      Mount(guest, writable);
      EXPECT_EQ(Refusal(), "") << guest;
      const char* bind = writable ? "--bind-fd" : "--ro-bind-fd";
      EXPECT_TRUE(HasInOrder(Options(), {bind, "7", guest})) << guest;
    }
  }
}

TEST_P(TemplatePlanTest, MountsInTheWayOfAClonesOwnAreRefused) {
  for (const bool writable : {false, true}) {
    for (const char* guest : {"/tmp", "/tmp/x", "/tmp/x/y", "/dev/pts/x", "/proc/x"}) {
      Mount(guest, writable);
      EXPECT_EQ(Refusal(), "it has a mount of the policy's at " + std::string(guest)) << guest;
    }
  }
}

TEST_P(TemplatePlanTest, WhatIsNotItsToCloneIsRefused) {
  EXPECT_EQ(Refusal(), "") << "the control";
  policy_.extra_args = {"--setenv", "A", "b"};
  EXPECT_EQ(Refusal(), "it has options of the caller's own");
  policy_.extra_args.clear();
  policy_.with_proc = false;
  EXPECT_EQ(Refusal(), "it has no /proc");
  policy_.with_proc = true;
  policy_.isolation = Isolation::kCompat;
  EXPECT_EQ(Refusal(), "isolation is not strict");
  EXPECT_FALSE(PlanTemplate(PlanPureBubblewrap(policy_, kWorkspace), clone_));
}

TEST_P(TemplatePlanTest, TheWorkspaceMayBeReadOnly) {
  policy_.write_workspace = false;
  EXPECT_TRUE(HasInOrder(Options(), {"--remount-ro", kWorkspace}));
}

TEST_P(TemplatePlanTest, NobodyIsWhoTheClonesCommandsAreNot) {
  clone_.uid = 0;
  clone_.gid = 4294967294;
  EXPECT_EQ(Steps().back(), "i0:4294967294-");
}

INSTANTIATE_TEST_SUITE_P(Users, TemplatePlanTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "Root" : "User"; });

}  // namespace
}  // namespace native_runner

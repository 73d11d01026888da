#include "policy/policy_text.h"

#include <gtest/gtest.h>

namespace native_runner {
namespace {

// The text is hashed into audits that people keep: a change here needs a new version line.
TEST(PolicyText, IsFixedForTheDefaults) {
  EXPECT_EQ(PolicyText(BubblewrapPolicy{}),
            "native-runner-policy 1\n"
            "runner bubblewrap\n"
            "bwrap-path \"bwrap\"\n"
            "isolation strict\n"
            "network deny\n"
            "ro-binds default\n"
            "ro-bind \"/usr\"\n"
            "ro-bind \"/bin\"\n"
            "ro-bind \"/lib\"\n"
            "ro-bind \"/lib64\"\n"
            "ro-bind \"/etc\"\n"
            "environment scrub\n");
  EXPECT_EQ(PolicyText(LocalPolicy{}),
            "native-runner-policy 1\n"
            "runner local\n"
            "environment scrub\n");
}

TEST(PolicyText, DependsOnEveryFieldOfThePolicy) {
  const std::string base = PolicyText(BubblewrapPolicy{});
  BubblewrapPolicy policy;
  policy.bwrap_path = "/usr/bin/bwrap";
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.network = Network::kAllow;
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.isolation = Isolation::kCompat;
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.ro_binds_named = true;
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.mounts = {{.label = std::nullopt, .host_path = "/a", .guest_path = "/b"}};
  const std::string mounted = PolicyText(policy);
  EXPECT_NE(mounted, base);
  policy.mounts[0].label = "a name is no part of it";
  EXPECT_EQ(PolicyText(policy), mounted);
  policy.mounts[0].writable = true;
  EXPECT_NE(PolicyText(policy), mounted);
  policy.mounts[0] = {.label = std::nullopt, .host_path = "/a", .guest_path = "/c"};
  EXPECT_NE(PolicyText(policy), mounted);
  policy.mounts[0] = {.label = std::nullopt, .host_path = "/c", .guest_path = "/b"};
  EXPECT_NE(PolicyText(policy), mounted);
  policy = {};
  policy.write_workspace = false;
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.with_proc = false;
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.with_dev = false;
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.with_landlock = true;
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.extra_args = {"--hostname", "box"};
  EXPECT_NE(PolicyText(policy), base);
  policy = {};
  policy.required = {"seccomp"};
  EXPECT_NE(PolicyText(policy), base);
  for (const auto mode : {EnvironmentPolicy::Mode::kInherit, EnvironmentPolicy::Mode::kClean,
                          EnvironmentPolicy::Mode::kNames}) {
    policy = {};
    policy.environment.mode = mode;
    EXPECT_NE(PolicyText(policy), base);
  }
}

TEST(PolicyText, DependsOnEveryFieldOfLandlocks) {
  const LandlockPolicy defaults;
  const auto changed = [&defaults](auto change) {
    LandlockPolicy policy = defaults;
    change(policy);
    return PolicyText(policy) != PolicyText(defaults);
  };
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.read_dirs = {"/usr"}; }));
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.read_dirs_named = true; }));
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.write_dirs = {"/data"}; }));
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.write_dirs_named = true; }));
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.read_workspace = false; }));
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.write_workspace = false; }));
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.network = Network::kAllow; }));
  EXPECT_TRUE(changed([](LandlockPolicy& policy) { policy.required = {"no-sockets"}; }));
  EXPECT_FALSE(changed([](LandlockPolicy& policy) { policy.shadow_dir = "/somewhere"; }));
}

TEST(PolicyText, DependsOnEveryFieldOfFirejails) {
  const FirejailPolicy defaults;
  const auto changed = [&defaults](auto change) {
    FirejailPolicy policy = defaults;
    change(policy);
    return PolicyText(policy) != PolicyText(defaults);
  };
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.firejail_path = "/opt/firejail"; }));
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.profile = "/p"; }));
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.read_dirs = {"/usr"}; }));
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.read_dirs_named = true; }));
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.write_dirs = {"/data"}; }));
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.extra_args = {"--nosound"}; }));
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.network = Network::kAllow; }));
  EXPECT_TRUE(changed([](FirejailPolicy& policy) { policy.required = {"seccomp"}; }));
  EXPECT_FALSE(changed([](FirejailPolicy& policy) { policy.shadow_dir = "/somewhere"; }));
}

TEST(PolicyText, LeavesOutTheWorkspaceAndSpelledOutDefaults) {
  BubblewrapPolicy policy;
  policy.shadow_dir = "/somewhere";
  policy.ro_binds = DefaultRoBinds();
  EXPECT_EQ(PolicyText(policy), PolicyText(BubblewrapPolicy{}));
  LocalPolicy local;
  local.shadow_dir = "/somewhere";
  EXPECT_EQ(PolicyText(local), PolicyText(LocalPolicy{}));
}

TEST(PolicyText, OrderMattersForBindsButNotForNames) {
  BubblewrapPolicy a;
  a.ro_binds_named = true;
  a.ro_binds = {"/usr", "/etc"};
  BubblewrapPolicy b = a;
  b.ro_binds = {"/etc", "/usr"};
  EXPECT_NE(PolicyText(a), PolicyText(b));

  b = a;
  a.environment = {.mode = EnvironmentPolicy::Mode::kNames, .names = {"B", "A", "B"}};
  b.environment = {.mode = EnvironmentPolicy::Mode::kNames, .names = {"A", "B"}};
  EXPECT_EQ(PolicyText(a), PolicyText(b));
}

TEST(PolicyText, ValuesCannotForgeLines) {
  BubblewrapPolicy one;
  one.ro_binds_named = true;
  one.ro_binds = {"/a\"\nro-bind \"/b"};
  BubblewrapPolicy two = one;
  two.ro_binds = {"/a", "/b"};
  EXPECT_NE(PolicyText(one), PolicyText(two));
  EXPECT_NE(PolicyText(one).find("ro-bind \"/a\\\"\\nro-bind \\\"/b\"\n"), std::string::npos);
}

TEST(DefaultRoBinds, AreTheContractsFive) {
  EXPECT_EQ(DefaultRoBinds(), (std::vector<std::string>{"/usr", "/bin", "/lib", "/lib64", "/etc"}));
}

TEST(PolicyText, ANetworkByDomainHasItsRules) {
  const auto with = [](std::vector<std::string> allow) {
    auto rules = ReadNetworkRules({std::move(allow), {}, {}, false});
    EXPECT_TRUE(rules);
    return std::make_shared<const NetworkPolicy>(NetworkPolicy{std::move(*rules), 0});
  };
  BubblewrapPolicy policy;
  ProjectPolicy project;
  const std::string denied = PolicyText(policy);
  policy.network = Network::kByDomain;
  project.network = Network::kByDomain;
  policy.by_domain = with({"a.test"});
  project.by_domain = policy.by_domain;
  for (const std::string& text : {PolicyText(policy), PolicyText(project)}) {
    EXPECT_NE(text.find("network by-domain\n" + NetworkRulesText(policy.by_domain->rules)),
              std::string::npos)
        << text;
  }
  const std::string one = PolicyText(policy);
  EXPECT_NE(one, denied);
  policy.by_domain = with({"A.test.", "a.test"});
  EXPECT_EQ(PolicyText(policy), one);
  policy.by_domain = with({"b.test"});
  EXPECT_NE(PolicyText(policy), one);
}

TEST(PolicyText, OtherPoliciesTextsStayAsTheyWere) {
  EXPECT_NE(PolicyText(BubblewrapPolicy()).find("native-runner-policy 1\nrunner bubblewrap\n"),
            std::string::npos);
  EXPECT_NE(PolicyText(BubblewrapPolicy()).find("\nnetwork deny\n"), std::string::npos);
}

}  // namespace
}  // namespace native_runner

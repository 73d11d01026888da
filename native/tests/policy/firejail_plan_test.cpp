#include <gtest/gtest.h>

#include <algorithm>

#include "policy/firejail.h"

namespace native_runner {
namespace {

using Texts = std::vector<std::string>;

bool Has(const Texts& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

// Every `later` comes after every `earlier`: Firejail follows its options in their order.
void ExpectOrder(const Texts& list, const std::string& earlier, const std::string& later) {
  const auto first = std::find(list.begin(), list.end(), earlier);
  ASSERT_NE(first, list.end()) << earlier;
  EXPECT_NE(std::find(first, list.end(), later), list.end()) << later << " after " << earlier;
}

FirejailFacts Facts() {
  FirejailFacts facts;
  facts.workspace = "/srv/work/1";
  facts.home = "/home/me";
  facts.entries = {"/dev", "/etc", "/home", "/opt", "/proc",
                   "/run", "/srv", "/tmp",  "/usr", "/var"};
  facts.read_dirs = {"/usr", "/etc"};
  return facts;
}

FirejailPlan Plan(const FirejailFacts& facts) {
  auto plan = PlanFirejail(facts);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *plan : FirejailPlan{};
}

TEST(PlanFirejail, HidesAllOfTheRootThatMayNotBeRead) {
  const FirejailPlan plan = Plan(Facts());
  for (const char* hidden : {"/home", "/opt", "/var"})
    EXPECT_TRUE(Has(plan.options, std::string("--blacklist=") + hidden)) << hidden;
  EXPECT_EQ(plan.hidden, (Texts{"/dev", "/home", "/opt", "/run", "/srv", "/tmp", "/var"}));
  EXPECT_EQ(plan.read_only, (Texts{"/", "/usr", "/etc"}));
  EXPECT_TRUE(Has(plan.options, "--read-only=/"));
  EXPECT_TRUE(Has(plan.options, "--private-cwd=/srv/work/1"));
  for (const char* shown : {"/usr", "/etc", "/srv", "/proc", "/dev", "/run", "/tmp"})
    EXPECT_FALSE(Has(plan.options, std::string("--blacklist=") + shown)) << shown;
}

TEST(PlanFirejail, ShowsTheWorkspaceAloneOfTheDirectoryThatHoldsIt) {
  EXPECT_TRUE(Has(Plan(Facts()).options, "--whitelist=/srv/work/1"));
  FirejailFacts facts = Facts();
  facts.workspace = "/srv";  // then there is nothing to hide in it
  const FirejailPlan plan = Plan(facts);
  EXPECT_FALSE(Has(plan.options, "--whitelist=/srv") || Has(plan.hidden, "/srv"));
  EXPECT_FALSE(Has(plan.options, "--blacklist=/srv"));
}

TEST(PlanFirejail, LeavesAWorkspaceAmongWhatMayBeReadWritable) {
  FirejailFacts facts = Facts();
  facts.workspace = "/usr/local/work";
  const FirejailPlan plan = Plan(facts);
  EXPECT_FALSE(Has(plan.options, "--whitelist=/usr/local/work"));
  ExpectOrder(plan.options, "--read-only=/usr", "--read-write=/usr/local/work");
  // An ordinary user can't have this option for files of others, and does not need it elsewhere.
  EXPECT_FALSE(Has(Plan(Facts()).options, "--read-write=/srv/work/1"));
}

TEST(PlanFirejail, TakesNothingFromAWorkspaceInVar) {
  FirejailFacts facts = Facts();
  EXPECT_FALSE(Has(Plan(facts).options, "--writable-var"));
  facts.workspace = "/var/lib/work";
  EXPECT_TRUE(Has(Plan(facts).options, "--writable-var"));
  EXPECT_FALSE(Has(Plan(facts).options, "--keep-var-tmp"));
  facts.workspace = "/var/tmp/work";
  EXPECT_TRUE(Has(Plan(facts).options, "--keep-var-tmp"));
  EXPECT_TRUE(Has(Plan(facts).hidden, "/var"));
}

TEST(PlanFirejail, ShowsFurtherDirectoriesAsTheyMayBeUsed) {
  FirejailFacts facts = Facts();
  facts.read_dirs.emplace_back("/opt/tools");
  facts.write_dirs = {"/home/me/cache"};
  const FirejailPlan plan = Plan(facts);
  EXPECT_TRUE(Has(plan.options, "--whitelist=/opt/tools"));
  EXPECT_TRUE(Has(plan.options, "--read-only=/opt/tools"));
  EXPECT_TRUE(Has(plan.read_only, "/opt/tools"));
  EXPECT_TRUE(Has(plan.options, "--whitelist=/home/me/cache"));
  EXPECT_FALSE(Has(plan.options, "--blacklist=/opt") || Has(plan.options, "--blacklist=/home"));
  EXPECT_TRUE(Has(plan.hidden, "/opt") && Has(plan.hidden, "/home") &&
              Has(plan.hidden, "/home/me"));
}

TEST(PlanFirejail, HidesAHomeThatItWouldKeepInAnEmptiedDirectory) {
  FirejailFacts facts = Facts();
  facts.home = "/tmp/home";
  EXPECT_TRUE(Has(Plan(facts).options, "--blacklist=/tmp/home"));
  facts.workspace = "/tmp/home/work";
  const FirejailPlan plan = Plan(facts);
  EXPECT_FALSE(Has(plan.options, "--blacklist=/tmp/home"));
  EXPECT_TRUE(Has(plan.hidden, "/tmp/home"));
  facts.workspace = "/tmp/home";
  EXPECT_FALSE(Has(Plan(facts).hidden, "/tmp/home"));
  for (const char* home : {"", "/", "/usr/games", "/home/me"}) {
    facts = Facts();
    facts.home = home;
    EXPECT_EQ(Plan(facts).hidden, Plan(Facts()).hidden) << home;
  }
}

TEST(PlanFirejail, KeepsRootFromWhatItOwns) {
  FirejailFacts facts = Facts();
  EXPECT_FALSE(Has(Plan(facts).options, "--read-only=/run"));
  facts.is_root = true;
  facts.secrets = {"/etc/shadow"};
  const FirejailPlan plan = Plan(facts);
  ExpectOrder(plan.options, "--read-only=/run", "--read-write=/run/firejail/mnt");
  ExpectOrder(plan.options, "--read-only=/dev", "--read-write=/dev/shm");
  ExpectOrder(plan.options, "--read-only=/srv", "--read-write=/srv/work/1");
  ExpectOrder(plan.options, "--read-only=/etc", "--blacklist=/etc/shadow");
  EXPECT_TRUE(Has(plan.hidden, "/etc/shadow"));
  EXPECT_TRUE(Has(plan.read_only, "/run/firejail"));
}

TEST(PlanFirejail, RefusesWhatItCannotBeTold) {
  const auto refusal = [](auto change) {
    FirejailFacts facts = Facts();
    change(facts);
    const auto plan = PlanFirejail(facts);
    EXPECT_TRUE(plan || plan.error().code == ErrorCode::kSetup);
    return plan ? "" : plan.error().message;
  };
  for (const char* path : {"/srv/a*", "/srv/a?", "/srv/[a]", "/srv/a,b", "/srv/a\\b", "/srv/a\nb",
                           "/srv/{a}", "/srv/a;b", "/", "/dev/shm/a", "/proc/1/cwd"}) {
    EXPECT_NE(refusal([path](FirejailFacts& facts) { facts.workspace = path; }), "") << path;
  }
  for (const char* path : {"/srv/a b", "/srv/it's", "/srv/\xc3\xa9", "/srv/~a", "/srv/a$b"}) {
    EXPECT_EQ(refusal([path](FirejailFacts& facts) { facts.workspace = path; }), "") << path;
  }
  // Firejail can't hide such a name, so the command would see it.
  const auto text = refusal([](FirejailFacts& facts) { facts.entries.emplace_back("/o*t"); });
  EXPECT_NE(text.find("\"/o*t\""), std::string::npos) << text;
  EXPECT_NE(refusal([](FirejailFacts& facts) { facts.secrets = {"/etc/a,b"}; }), "");
}

TEST(PlanFirejail, NeedsALoginShellThatStartsPrograms) {
  for (const char* shell : {"/usr/sbin/nologin", "/sbin/nologin", "/bin/false"}) {
    FirejailFacts facts = Facts();
    facts.shell = shell;
    const auto plan = PlanFirejail(facts);
    ASSERT_FALSE(plan) << shell;
    EXPECT_NE(plan.error().message.find(shell), std::string::npos) << plan.error().message;
  }
  for (const char* shell : {"", "/bin/sh", "/usr/bin/zsh", "/opt/nologin/bash"}) {
    FirejailFacts facts = Facts();
    facts.shell = shell;
    EXPECT_TRUE(PlanFirejail(facts)) << shell;
  }
}

TEST(FirejailOptions, HaveTheShapeOfTheDocument) {
  FirejailPolicy policy;
  FirejailPlan plan;
  plan.options = {"--blacklist=/opt"};
  policy.extra_args = {"--hostname=box"};
  const Texts options = FirejailOptions(policy, plan);
  EXPECT_TRUE(Has(options, "--noprofile") && Has(options, "--net=none"));
  EXPECT_TRUE(Has(options, "--caps.drop=all") && Has(options, "--nonewprivs"));
  ExpectOrder(options, "--hostname=box", "--blacklist=/opt");
  EXPECT_EQ(options.back(), "--");
  EXPECT_EQ(std::count(options.begin(), options.end(), "--"), 1);
  policy.network = Network::kAllow;
  EXPECT_FALSE(Has(FirejailOptions(policy, plan), "--net=none"));
}

TEST(FirejailOptions, LeaveFilesToAProfile) {
  FirejailPolicy policy;
  policy.profile = "/etc/firejail/mine.profile";
  const Texts options = FirejailOptions(policy, {});
  EXPECT_TRUE(Has(options, "--profile=/etc/firejail/mine.profile") && Has(options, "--net=none"));
  for (const char* ours : {"--noprofile", "--private-dev", "--private-tmp"})
    EXPECT_FALSE(Has(options, ours)) << ours;
}

}  // namespace
}  // namespace native_runner

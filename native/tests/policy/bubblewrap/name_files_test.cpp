#include <gtest/gtest.h>

#include <map>

#include "policy/bubblewrap/bubblewrap_mounts.h"

namespace native_runner {
namespace {

TEST(SwitchText, HasNamesFromFilesAndTheResolverAlone) {
  const std::pair<const char*, const char*> rows[] = {
      {"hosts: files mdns4 dns\n", "hosts: files dns\n"},
      {"  hosts:\tresolve\npasswd: files\n", "hosts: files dns\npasswd: files\n"},
      {"passwd: files\nhosts : resolve", "passwd: files\nhosts: files dns\n"},
      {"hosts: a\nhosts: b\n", "hosts: files dns\n"},
      {"passwd: files", "passwd: files\nhosts: files dns\n"},
      {"#hosts: a\nhostsfoo: b\n", "#hosts: a\nhostsfoo: b\nhosts: files dns\n"},
      {"\n\n", "\n\nhosts: files dns\n"},
  };
  for (const auto& [host, own] : rows) {
    EXPECT_EQ(SwitchText(host), own) << host;
    EXPECT_EQ(SwitchText(own), own);
  }
  EXPECT_NE(SwitchText("").find("\nhosts: files dns\n"), std::string::npos);
  EXPECT_EQ(SwitchText("").find("passwd: files\n"), 0u);
}

TEST(HostsText, NamesTheMachineWhereThatIsAPlainName) {
  const std::string rest = "\n::1 localhost ip6-localhost ip6-loopback\n";
  EXPECT_EQ(HostsText("vm-1"), "127.0.0.1 localhost vm-1" + rest);
  for (const char* machine : {"", "localhost", "a b", "a\n10.0.0.1", "host.of.a.domain", "(none)"})
    EXPECT_EQ(HostsText(machine), "127.0.0.1 localhost" + rest) << machine;
}

// A host of which only these entries are there: links with their texts, and others.
LookAtHost HostOf(std::map<std::string, std::string> entries) {
  return [entries = std::move(entries)](const std::string& path) {
    const auto found = entries.find(path);
    return found == entries.end() ? HostEntry() : HostEntry{true, found->second};
  };
}

Mount At(Mount::Kind kind, const std::string& source, const std::string& target) {
  Mount mount;
  mount.kind = kind;
  mount.source = source;
  mount.target = target;
  return mount;
}

TEST(FollowInside, GoesAsProgramsInsideWill) {
  using Kind = Mount::Kind;
  const std::vector<Mount> mounts = {
      At(Kind::kReadOnlyBind, "/etc", "/etc"), At(Kind::kReadOnlyBind, "/srv/run", "/run"),
      At(Kind::kTmpfs, "", "/run/private"),    At(Kind::kBind, "/home/w", "/work"),
      At(Kind::kSymlink, "etc", "/config"),    At(Kind::kRemountReadOnly, "", "/"),
  };
  const LookAtHost host = HostOf({{"/etc", ""},
                                  {"/etc/plain", ""},
                                  {"/etc/one", "plain"},
                                  {"/etc/two", "./../etc/one"},
                                  {"/etc/run", "../run/x"},
                                  {"/srv/run", ""},
                                  {"/srv/run/x", "/etc/plain"},
                                  {"/etc/private", "/run/private/y"},
                                  {"/srv/run/private/y", ""},
                                  {"/etc/away", "/usr/a"},
                                  {"/etc/work", "/work/a"},
                                  {"/home/w/a", ""},
                                  {"/etc/above", "../../../.."},
                                  {"/etc/loop", "loop"}});
  const struct {
    const char* path;
    InsidePath wanted;
  } rows[] = {
      {"/etc/plain", {"/etc/plain", "/etc/plain", true, false}},
      {"/etc/one", {"/etc/plain", "/etc/plain", true, false}},
      {"/etc/two", {"/etc/plain", "/etc/plain", true, false}},
      {"/etc/run", {"/etc/plain", "/etc/plain", true, false}},
      {"/config/one", {"/etc/plain", "/etc/plain", true, false}},
      {"/etc/none", {"/etc/none", "/etc/none", false, false}},
      {"/etc/private", {"/run/private/y", "", false, false}},
      {"/etc/away", {"/usr/a", "", false, false}},
      {"/etc/work", {"/work/a", "/home/w/a", true, true}},
      {"/etc/above", {"/", "", false, false}},
  };
  for (const auto& row : rows) {
    const auto inside = FollowInside(row.path, mounts, host);
    ASSERT_TRUE(inside) << row.path;
    EXPECT_EQ(inside->path, row.wanted.path) << row.path;
    EXPECT_EQ(inside->host, row.wanted.host) << row.path;
    EXPECT_EQ(inside->is_there, row.wanted.is_there) << row.path;
    EXPECT_EQ(inside->is_writable, row.wanted.is_writable) << row.path;
  }
  EXPECT_FALSE(FollowInside("/etc/loop", mounts, host));
}

TEST(PlanBubblewrap, MasksOtherResolversWhereTheyWouldShow) {
  BubblewrapPolicy policy;
  policy.shadow_dir = "/w";
  policy.ro_binds_named = true;
  HostFacts facts;
  facts.resolver_sockets = {"/run/nscd/socket"};
  facts.name_files = {{"/etc/hosts", "text", 9}};
  const auto options = [&] {
    std::string all;
    for (const std::string& option :
         BubblewrapOptions(PlanBubblewrap(policy, facts, "/w", -1, "/w", 0)))
      all += option + " ";
    return all;
  };
  const std::string mask = "--ro-bind /dev/null /run/nscd/socket ";
  policy.ro_binds = {"/usr", "/etc"};
  policy.network = Network::kByDomain;
  EXPECT_EQ(options().find(mask), std::string::npos) << options();
  EXPECT_NE(options().find("--ro-bind-data 9 /etc/hosts "), std::string::npos) << options();
  EXPECT_EQ(options().find("--unshare-net"), std::string::npos) << options();
  policy.ro_binds = {"/"};
  EXPECT_NE(options().find(mask), std::string::npos) << options();
  policy.network = Network::kDeny;
  EXPECT_EQ(options().find(mask), std::string::npos) << options();
  EXPECT_EQ(options().find("--ro-bind-data"), std::string::npos) << options();
  EXPECT_NE(options().find("--unshare-net"), std::string::npos) << options();
}

// A plan that can't have a namespace for it must not share the host's network.
TEST(PlanPureBubblewrap, ANetworkByDomainIsDenied) {
  BubblewrapPolicy policy;
  policy.network = Network::kByDomain;
  EXPECT_TRUE(PlanPureBubblewrap(policy, "/w").hardening.unshare_net);
  EXPECT_TRUE(PlanProcessSandbox(policy, {}, "/w").hardening.unshare_net);
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include "policy/bubblewrap/bubblewrap_plan.h"

namespace native_runner {
namespace process_sandbox_test {

using Texts = std::vector<std::string>;

Texts operator+(Texts a, const Texts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Texts kIsolation = {"--unshare-user",
                          "--unshare-pid",
                          "--unshare-ipc",
                          "--unshare-uts",
                          "--unshare-cgroup",
                          "--cap-drop",
                          "ALL"};

ProcessSandboxPolicy Policy() {
  ProcessSandboxPolicy policy;
  policy.sandbox.network = Network::kAllow;
  policy.sandbox.ro_binds = {"/usr", "/etc"};
  policy.sandbox.ro_binds_named = true;
  return policy;
}

ProcessCommand Command(std::vector<HostMount> mounts, Texts args = {}) {
  return {.cmd = "wasmtime", .args = std::move(args), .mounts = std::move(mounts)};
}

const HostMount kShadow = {.label = "shadow-workspace",
                           .host_path = "/host/shadow",
                           .guest_path = "/workspace",
                           .writable = true};
const HostMount kCache = {
    .label = "cache", .host_path = "/host/cache", .guest_path = "/cache", .writable = false};

TEST(ProcessSandbox, IsTheContractsOrderWithTheMountsLast) {
  EXPECT_EQ(ProcessSandboxArgs(Policy(), Command({kCache, kShadow}, {"run", "x.wasm"})),
            (Texts{"--die-with-parent", "--new-session"} + kIsolation +
             Texts{"--proc",      "/proc",      "--dev",        "/dev",         "--tmpfs",
                   "/tmp",        "--ro-bind",  "/usr",         "/usr",         "--ro-bind",
                   "/etc",        "/etc",       "--remount-ro", "/proc",        "--ro-bind",
                   "/host/cache", "/cache",     "--bind",       "/host/shadow", "/workspace",
                   "--chdir",     "/workspace", "wasmtime",     "run",          "x.wasm"}));
}

TEST(ProcessSandbox, CompatIsExactlyTheContractsFlags) {
  ProcessSandboxPolicy policy = Policy();
  policy.sandbox.isolation = Isolation::kCompat;
  policy.sandbox.network = Network::kDeny;
  policy.sandbox.proc_path = "/p";
  policy.sandbox.dev_path = "/d";
  policy.sandbox.tmp_path = "/t";
  EXPECT_EQ(ProcessSandboxArgs(policy, Command({})),
            (Texts{"--die-with-parent", "--new-session", "--unshare-net", "--proc", "/p", "--dev",
                   "/d", "--tmpfs", "/t", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc",
                   "wasmtime"}));
}

TEST(ProcessSandbox, StartsInTheFirstMountWithTheLabel) {
  ProcessSandboxPolicy policy = Policy();
  policy.cwd_label = "cache";
  const Texts args = ProcessSandboxArgs(policy, Command({kShadow, kCache}));
  EXPECT_EQ(Texts(args.end() - 3, args.end()), (Texts{"--chdir", "/cache", "wasmtime"}));
}

TEST(ProcessSandbox, ABindOfTheRootComesBeforeWhatItWouldHide) {
  ProcessSandboxPolicy policy = Policy();
  policy.sandbox.ro_binds = {"/etc", "/"};
  const Texts args = ProcessSandboxArgs(policy, Command({}));
  const Texts start = Texts{"--die-with-parent", "--new-session"} + kIsolation +
                      Texts{"--ro-bind", "/", "/", "--proc"};
  EXPECT_EQ(Texts(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(start.size())), start);
}

TEST(ProcessSandbox, AProgramThatLooksLikeAnOptionIsNone) {
  ProcessCommand command = Command({}, {"--version"});
  command.cmd = "--bind";
  const Texts args = ProcessSandboxArgs(Policy(), command);
  EXPECT_EQ(Texts(args.end() - 3, args.end()), (Texts{"--", "--bind", "--version"}));
}

TEST(GuestArgument, IsRewrittenByWholeComponents) {
  const std::vector<HostMount> mounts = {kShadow};
  EXPECT_EQ(GuestArgument("/host/shadow", mounts), "/workspace");
  EXPECT_EQ(GuestArgument("/host/shadow/", mounts), "/workspace/");
  EXPECT_EQ(GuestArgument("/host/shadow/a b/c", mounts), "/workspace/a b/c");
  EXPECT_EQ(GuestArgument("/host/shadow//a/../b", mounts), "/workspace//a/../b");
  for (const char* other :
       {"", "-", "/", "/host", "/host/shadowy", "/host/shadow.txt", "host/shadow", "./host/shadow",
        "--dir=/host/shadow", "/host/shadow/../other", "/etc"}) {
    EXPECT_EQ(GuestArgument(other, mounts), other);
  }
}

TEST(GuestArgument, TheLongestHostPathWinsWhateverTheOrder) {
  const HostMount inner = {.label = std::nullopt,
                           .host_path = "/host/shadow/inner/",
                           .guest_path = "/inner/",
                           .writable = false};
  for (const auto& mounts : {std::vector{kShadow, inner}, std::vector{inner, kShadow}}) {
    EXPECT_EQ(GuestArgument("/host/shadow/inner/x", mounts), "/inner/x");
    EXPECT_EQ(GuestArgument("/host/shadow/innermost", mounts), "/workspace/innermost");
  }
}

TEST(GuestArgument, TheRootIsAPathToo) {
  const HostMount root = {
      .label = std::nullopt, .host_path = "/", .guest_path = "/host", .writable = false};
  EXPECT_EQ(GuestArgument("/etc/x", {root}), "/host/etc/x");
  EXPECT_EQ(GuestArgument("/", {root}), "/host/");
  const HostMount to_root = {
      .label = std::nullopt, .host_path = "/srv", .guest_path = "/", .writable = false};
  EXPECT_EQ(GuestArgument("/srv", {to_root}), "/");
  EXPECT_EQ(GuestArgument("/srv/x", {to_root}), "/x");
}

std::string Fault(const std::optional<Error>& error) {
  return error ? error->message : "";
}

TEST(CheckPolicy, OfAProcessSandboxNamesTheField) {
  ProcessSandboxPolicy policy = Policy();
  EXPECT_EQ(Fault(CheckPolicy(policy)), "");
  policy.sandbox.tmp_path = "tmp";
  EXPECT_EQ(Fault(CheckPolicy(policy)), "Expected `tmpPath` to be an absolute path, got \"tmp\"");
  policy.sandbox.bwrap_path = "bin/bwrap";
  EXPECT_NE(Fault(CheckPolicy(policy)).find("`bwrapPath`"), std::string::npos);
}

TEST(CheckCommand, NamesTheField) {
  EXPECT_EQ(Fault(CheckCommand(Command({kShadow}, {"", "a"}))), "");
  HostMount mount = kShadow;
  mount.host_path = "/a/../b";
  EXPECT_EQ(Fault(CheckCommand(Command({kCache, mount}))),
            "Expected `mounts[1].hostPath` to be a path without '..', got \"/a/../b\"");
  EXPECT_NE(Fault(CheckCommand(Command({}, {"a", std::string("b\0", 2)}))).find("`args[1]`"),
            std::string::npos);
  EXPECT_NE(Fault(CheckCommand({.cmd = "", .args = {}, .mounts = {}})).find("`cmd`"),
            std::string::npos);
}

}  // namespace process_sandbox_test
}  // namespace native_runner

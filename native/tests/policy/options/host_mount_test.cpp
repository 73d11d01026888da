#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "policy/options/policy.h"

namespace native_runner {
namespace {

HostMount At(std::string guest_path, std::string host_path = "/srv/data") {
  return {.label = std::nullopt,
          .host_path = std::move(host_path),
          .guest_path = std::move(guest_path),
          .writable = false};
}

std::string Message(const std::vector<HostMount>& mounts) {
  const auto error = CheckHostMounts(mounts, kWorkspace);
  if (!error) return "";
  EXPECT_EQ(error->code, ErrorCode::kInvalidValue);
  return error->message;
}

TEST(CheckHostMounts, TakesGoodOnes) {
  for (const char* guest_path :
       {"/data", "/data/", "//data/./x", "/tmp", "/usr", "/workspace/a", "/workspace/a/b",
        "/workspaces", "/process", "/devices", "/etc/..data", "/proc.d", "/a b\n\xc3\xbc"}) {
    EXPECT_EQ(Message({At(guest_path)}), "") << guest_path;
  }
  EXPECT_EQ(Message({At("/data"), At("/data/inner"), At("/data/inner/most"), At("/database")}), "");
  EXPECT_EQ(Message({At("/x", "/"), At("/y", "/proc"), At("/z", "/srv/data")}), "")
      << "what a host path is shows when a run starts";
}

TEST(CheckHostMounts, RefusesWhatHidesTheSandboxsOwn) {
  struct Case {
    const char* hidden;
    std::vector<const char*> guest_paths;
  };
  const std::vector<Case> cases = {
      {"/workspace", {"/", "//", "/.", "/./", "/workspace", "/workspace/", "//workspace/."}},
      {"/proc", {"/proc", "/proc/", "//proc", "/./proc", "/proc/sys", "/proc/self/fd/../"}},
      {"/dev", {"/dev", "/dev/", "/dev/shm", "/dev/null", "//dev//pts"}},
      {"/.native-runner-launcher", {"/.native-runner-launcher", "/.native-runner-launcher/x"}},
  };
  for (const Case& each : cases) {
    for (const char* guest_path : each.guest_paths) {
      const std::string message = Message({At("/fine"), At(guest_path)});
      EXPECT_NE(message.find("`mounts[1].guestPath`"), std::string::npos)
          << guest_path << ": " << message;
      if (std::string(guest_path).find("..") != std::string::npos) continue;
      EXPECT_NE(message.find(each.hidden), std::string::npos) << guest_path << ": " << message;
    }
  }
}

TEST(CheckHostMounts, RefusesWhatHidesAnEarlierOne) {
  EXPECT_EQ(
      Message({At("/a"), At("/b"), At("//a/")}),
      "Expected `mounts[2].guestPath` to be another than `mounts[0].guestPath`, got \"//a/\"");
  EXPECT_EQ(Message({At("/a"), At("/b/c"), At("/b")}),
            "Expected `mounts[2].guestPath` to be a path that does not hide "
            "`mounts[1].guestPath`, got \"/b\"");
  EXPECT_EQ(Message({At("/b"), At("/b/c")}), "");
}

TEST(CheckHostMounts, NamesTheField) {
  const std::string with_nul("/a\0b", 4);
  EXPECT_EQ(Message({At("/a", "srv")}),
            "Expected `mounts[0].hostPath` to be an absolute path, got \"srv\"");
  EXPECT_EQ(Message({At("/a", "/srv/../etc")}),
            "Expected `mounts[0].hostPath` to be a path without '..', got \"/srv/../etc\"");
  EXPECT_NE(Message({At("/a", "")}).find("`mounts[0].hostPath`"), std::string::npos);
  EXPECT_NE(Message({At("/a", with_nul)}).find("without NUL bytes"), std::string::npos);
  EXPECT_NE(Message({At("a")}).find("`mounts[0].guestPath`"), std::string::npos);
  EXPECT_NE(Message({At("/a/../..")}).find("without '..'"), std::string::npos);
  EXPECT_NE(Message({At(with_nul)}).find("without NUL bytes"), std::string::npos);
  HostMount named = At("/a");
  named.label = with_nul;
  EXPECT_NE(Message({named}).find("`mounts[0].label`"), std::string::npos);
  named.label = "cache \"1\"";
  EXPECT_EQ(HostPathField({At("/b"), named}, 1), R"(mounts[1].hostPath ("cache \"1\""))");
  EXPECT_EQ(HostPathField({At("/b")}, 0), "mounts[0].hostPath");
}

TEST(CheckHostMounts, TakesSoManyAndNoMore) {
  std::vector<HostMount> mounts;
  for (std::size_t i = 0; i < kMostMounts; ++i)
    mounts.push_back(At("/m/" + std::to_string(i)));
  EXPECT_EQ(Message(mounts), "");
  mounts.push_back(At("/one/more"));
  EXPECT_EQ(Message(mounts), "Expected `mounts` to be at most 256 mounts, got 257");
}

}  // namespace
}  // namespace native_runner

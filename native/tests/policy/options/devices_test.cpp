// Which devices a policy may name.

#include "policy/options/devices.h"

#include <gtest/gtest.h>

namespace native_runner {
namespace {

std::string Fault(const std::string& entry, DevicesOf use = DevicesOf::kOwnDev) {
  const auto error = CheckDevices({entry}, use);
  return error ? error->message : "";
}

TEST(DevicesTest, FamiliesAndPathsBelowDevAreNamed) {
  for (const char* entry : {"nvidia", "nvidia:0", "nvidia:12", "dri", "kfd", "kvm", "fuse", "tun",
                            "/dev/kvm", "/dev/net/tun", "/dev//fuse"}) {
    EXPECT_EQ(Fault(entry), "") << entry;
  }
  for (const char* entry : {"", "cuda", "nvidia:", "nvidia:-1", "nvidia:00001", "dri:0", "Kvm",
                            "/etc/passwd", "/dev", "/dev/", "/devices", "kvm/"}) {
    EXPECT_NE(Fault(entry).find("Expected `devices[0]` to be a path below /dev, or"),
              std::string::npos)
        << entry;
  }
  EXPECT_NE(Fault("/dev/../etc/shadow").find("without '..'"), std::string::npos);
}

TEST(DevicesTest, PlacesOfTheSandboxAreNotNamed) {
  for (const char* entry : {"/dev/shm", "/dev/shm/node", "/dev/pts/0", "/dev/fd/0", "/dev/stdin",
                            "/dev/console", "/dev/core", "/dev/mqueue/a"}) {
    EXPECT_NE(Fault(entry).find("to be a path outside of /dev/"), std::string::npos) << entry;
    EXPECT_NE(Fault(entry, DevicesOf::kHostPaths), "") << entry;
  }
  EXPECT_EQ(Fault("/dev/ptmx"), "");
  EXPECT_NE(Fault("/dev/ptmx", DevicesOf::kEmptyDev).find("`devBind: false`"), std::string::npos);
}

TEST(DevicesTest, OnlyADriverThatNamesThreadsIsNotForLandlock) {
  EXPECT_NE(Fault("nvidia:0", DevicesOf::kHostPaths).find("/proc/self/task/*/comm"),
            std::string::npos);
  EXPECT_EQ(Fault("dri", DevicesOf::kHostPaths), "");
  EXPECT_TRUE(NamesThreads({"/dev/fuse", "nvidia:3"}));
  EXPECT_FALSE(NamesThreads({"/dev/nvidia0", "dri", "kfd"}));
}

TEST(DevicesTest, ThereIsALimit) {
  EXPECT_FALSE(CheckDevices(std::vector<std::string>(kMostDevices, "kvm"), DevicesOf::kOwnDev));
  const auto error =
      CheckDevices(std::vector<std::string>(kMostDevices + 1, "kvm"), DevicesOf::kOwnDev);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "Expected `devices` to be at most 64 devices, got 65");
}

TEST(DevicesTest, WhatUndoesTheSandboxIsRefusedUnderAnyName) {
  const std::string name = "/dev/innocent";
  EXPECT_STREQ(WhyRefused(1, 1, name), "is the memory of the machine");
  EXPECT_STREQ(WhyRefused(1, 11, name), "is the kernel's log");
  EXPECT_STREQ(WhyRefused(4, 63, name), "is a console of the machine");
  EXPECT_STREQ(WhyRefused(139, 7, name), "is a console of the machine");
  EXPECT_STREQ(WhyRefused(10, 236, name), "gives access to the machine's disks");
  EXPECT_STREQ(WhyRefused(240, 0, "/dev/nvme0"), "gives access to the machine's disks");
  for (const auto& [major, minor] : {std::pair(1, 3),
                                     {1, 5},
                                     {1, 7},
                                     {1, 8},
                                     {1, 9},
                                     {4, 64},
                                     {5, 0},
                                     {5, 2},
                                     {10, 200},
                                     {10, 229},
                                     {10, 232},
                                     {195, 255},
                                     {226, 128}}) {
    EXPECT_EQ(WhyRefused(static_cast<std::uint32_t>(major), static_cast<std::uint32_t>(minor),
                         "/dev/nvidia0"),
              nullptr)
        << major << ":" << minor;
  }
}

}  // namespace
}  // namespace native_runner

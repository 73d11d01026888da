// The launcher drops the command's capability sets where the order says so.

#include <unistd.h>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

OrderSpec Showing(const char* sets, std::uint32_t flags) {
  OrderSpec spec{.argv = {"/bin/grep", "-E", sets, "/proc/self/status"}};
  spec.header.flags = flags;
  return spec;
}

constexpr const char* kEmpty =
    "CapInh:\t0000000000000000\n"
    "CapPrm:\t0000000000000000\n"
    "CapEff:\t0000000000000000\n"
    "CapAmb:\t0000000000000000\n";
constexpr const char* kSets = "CapInh|CapPrm|CapEff|CapAmb";
constexpr std::uint32_t kDrop = kOrderDropCapabilities | kOrderNoCapabilities | kOrderNoNewPrivs;

TEST(CapabilitiesTest, AreDroppedForGood) {
  const RunResult result = RunCommand(Mode::kSubreaper, Showing(kSets, kDrop));
  EXPECT_EQ(result.out, kEmpty) << result.last().text;
}

TEST(CapabilitiesTest, TheBoundingSetIsEmptiedWhereItMayBe) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may drop from it (CAP_SETPCAP)";
  EXPECT_EQ(RunCommand(Mode::kSubreaper, Showing("CapBnd", kDrop)).out,
            "CapBnd:\t0000000000000000\n");
  EXPECT_NE(RunCommand(Mode::kSubreaper, Showing("CapBnd", 0)).out, "CapBnd:\t0000000000000000\n");
}

TEST(CapabilitiesTest, AreLeftWhereNothingIsSaid) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has capabilities to be left";
  EXPECT_NE(RunCommand(Mode::kSubreaper, Showing(kSets, 0)).out, kEmpty);
}

TEST(CapabilitiesTest, WhatIsLeftIsRefused) {
  const RunResult result =
      RunCommand(Mode::kSubreaper, Showing(kSets, kOrderNoCapabilities | kOrderNoNewPrivs));
  if (geteuid() != 0) {
    EXPECT_EQ(result.out, kEmpty) << "an ordinary user has none";
    return;
  }
  EXPECT_EQ(result.last().kind, ReportKind::kRefused);
  EXPECT_STREQ(result.last().text, "no-capabilities: some are left");
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace native_runner

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "policy/options/validate.h"

namespace native_runner {
namespace {

constexpr auto kNames = std::to_array<std::string_view>(
    {"argv", "allowWriteWorkspace", "network", "readOnly", "required", "memoryBytes",
     "maxProcesses", "limits.timeoutMs", "limits.memoryBytes"});

std::string_view Nearest(std::string_view name) {
  return NearestName(name, kNames);
}

TEST(NearestName, FindsWhatIsMisspelled) {
  EXPECT_EQ(Nearest("allowWriteWorkspce"), "allowWriteWorkspace");
  EXPECT_EQ(Nearest("netwrok"), "network");
  EXPECT_EQ(Nearest("require"), "required");
  EXPECT_EQ(Nearest("arg"), "argv");
}

TEST(NearestName, LooksAtNeitherCaseNorPunctuation) {
  EXPECT_EQ(Nearest("readonly"), "readOnly");
  EXPECT_EQ(Nearest("allow_write_workspace"), "allowWriteWorkspace");
}

TEST(NearestName, FindsWhatIsPartOfAnother) {
  EXPECT_EQ(Nearest("memory"), "memoryBytes");
  EXPECT_EQ(Nearest("processes"), "maxProcesses");
  EXPECT_EQ(Nearest("networkMode"), "network");
}

TEST(NearestName, FindsWhatStandsInAnObjectInside) {
  EXPECT_EQ(Nearest("timeoutMs"), "limits.timeoutMs");
  EXPECT_EQ(Nearest("memoryBytes"), "memoryBytes");  // the first of two
}

TEST(NearestName, PrefersTheNearer) {
  constexpr auto kTwo = std::to_array<std::string_view>({"roBind", "roBinds"});
  EXPECT_EQ(NearestName("roBinds", kTwo), "roBinds");
  EXPECT_EQ(NearestName("roBindz", kTwo), "roBind");  // both are one away: the first
}

TEST(NearestName, FindsNothingForWhatIsFar) {
  EXPECT_EQ(Nearest("colour"), "");
  EXPECT_EQ(Nearest("xy"), "");
  EXPECT_EQ(Nearest(""), "");
  EXPECT_EQ(Nearest(std::string(65, 'n')), "");
  EXPECT_EQ(NearestName("network", {}), "");
}

}  // namespace
}  // namespace native_runner

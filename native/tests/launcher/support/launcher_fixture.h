#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <string>

#include "tests/launcher/support/launcher_host.h"

namespace native_runner {

// Tests that hold in both modes. Without a working bwrap those of Mode::kInit skip and say why.
class LauncherTest : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    if (GetParam() == Mode::kInit && !BwrapProblem().empty()) GTEST_SKIP() << BwrapProblem();
  }

  static RunResult Run(const OrderSpec& spec) { return RunCommand(GetParam(), spec); }
  static RunResult Shell(const std::string& script) {
    return Run({.argv = {"/bin/sh", "-c", script}});
  }
};

inline std::string ModeName(const testing::TestParamInfo<Mode>& info) {
  return info.param == Mode::kInit ? "Init" : "Subreaper";
}

#define INSTANTIATE_LAUNCHER_MODES(suite) \
  INSTANTIATE_TEST_SUITE_P(Modes, suite, testing::Values(Mode::kSubreaper, Mode::kInit), ModeName)

inline void ExpectExited(const RunResult& result, int code) {
  ASSERT_EQ(result.last().kind, ReportKind::kExited) << result.last().text << result.err;
  ASSERT_TRUE(WIFEXITED(result.last().wait_status)) << result.err;
  EXPECT_EQ(WEXITSTATUS(result.last().wait_status), code) << result.err;
  EXPECT_EQ(result.last().error, 0);
}

}  // namespace native_runner

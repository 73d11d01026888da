#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "tests/supervise/support/run_host.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

class ExplainTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!SandboxProblem().empty()) GTEST_SKIP() << SandboxProblem();
  }

  RunResult Explain(const std::string& script) {
    ExecRequest request = ShellRequest(script);
    request.explain = Explain::kYes;
    return host_.Execute(Sandboxed(workspace_.path()), std::move(request));
  }

  static const Observation* Find(const RunResult& result, const std::string& call,
                                 const std::string& path) {
    const auto found = std::find_if(
        result.observations.begin(), result.observations.end(),
        [&](const Observation& each) { return each.call == call && each.path == path; });
    return found == result.observations.end() ? nullptr : &*found;
  }

  TempDirectory workspace_;
  RunHost host_;
};

TEST_F(ExplainTest, TellsOfAWriteThatWasRefused) {
  const RunResult result = Explain("mkdir /usr/refused; mkdir /usr/refused; exit 3");
  EXPECT_EQ(result.outcome.exit_code, 3);
  const Observation* seen = Find(result, "mkdir", "/usr/refused");
  if (seen == nullptr) seen = Find(result, "mkdirat", "/usr/refused");
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->kind, Observation::Kind::kWrite);
  EXPECT_EQ(seen->error, EROFS);
  EXPECT_EQ(seen->program, "mkdir");
  EXPECT_EQ(seen->count, 2u);
  EXPECT_EQ(result.observations_omitted, 0u);
}

TEST_F(ExplainTest, TellsOfAReadThatIsMissing) {
  const RunResult result = Explain("cd /usr; cat ./no-such-file; exit 0");
  const Observation* seen = Find(result, "openat", "/usr/./no-such-file");
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->kind, Observation::Kind::kRead);
  EXPECT_EQ(seen->error, ENOENT);
  EXPECT_EQ(seen->program, "cat");
}

TEST_F(ExplainTest, TellsOfAProgramThatIsMissing) {
  const RunResult result = Explain("/opt/no-such-program; exit 0");
  const Observation* seen = Find(result, "execve", "/opt/no-such-program");
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->kind, Observation::Kind::kExec);
}

TEST_F(ExplainTest, WithoutItTellsNothing) {
  const RunResult result =
      host_.Execute(Sandboxed(workspace_.path()), ShellRequest("mkdir /usr/refused; exit 3"));
  EXPECT_EQ(result.outcome.exit_code, 3);
  EXPECT_TRUE(result.observations.empty());
}

}  // namespace
}  // namespace native_runner

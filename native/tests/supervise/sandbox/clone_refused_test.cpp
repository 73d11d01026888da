// A clone whose making the kernel refuses: what was to be in it is in a new sandbox, all the same.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "supervise/session/session.h"
#include "tests/supervise/sandbox/clone_fixture.h"

namespace native_runner {
namespace {

class CloneRefusedTest : public CloneFixture {
 protected:
  // Has a template whose clones have no number left for a descriptor: to write their ids they need
  // one more than came with the request. It has 0 to 3 itself, its /proc, its network
  // namespace, and the four of a request.
  void StarveTemplate() {
    constexpr rlim_t kNumbers = 10;
    Warm();
    template_ = Template();
    ASSERT_NE(template_, 0);
    ASSERT_EQ(InClone("echo here"), "here\n") << "the control";
    const rlimit few{kNumbers, kNumbers};
    ASSERT_EQ(prlimit(template_, RLIMIT_NOFILE, &few, nullptr), 0);
  }

  pid_t template_ = 0;
};

TEST_F(CloneRefusedTest, ARunIsColdAndSaysWhy) {
  StarveTemplate();
  const RunResult& result = Shell("echo x >> count; ulimit -n");
  EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
  EXPECT_EQ(result.start, SandboxStart::kCold);
  EXPECT_NE(result.cold_reason.find("its ids can't be set"), std::string::npos)
      << result.cold_reason;
  EXPECT_EQ(workspace_.Read("count"), "x\n");
  EXPECT_GT(std::stoul(Text(result.out.bytes)), 10u) << "the limit was the template's";
  EXPECT_TRUE(IsGoneSoon(template_)) << "it makes no clone any more";
  EXPECT_TRUE(IsClonedSoon());
}

TEST_F(CloneRefusedTest, ASessionOpensInANewSandbox) {
  StarveTemplate();
  SessionRule rule;
  rule.clones_of = place_.number;
  auto session = std::make_shared<const SessionBackend>(runtime_, rule);
  supervisor_->OpenSession(1, session);
  const auto* opened = listener_->WaitOpen(1);
  ASSERT_TRUE(opened != nullptr && opened->ok());
  EXPECT_TRUE(IsGoneSoon(template_));
  for (const char* text : {"one", "two"}) {
    Submit(++last_, ShellRequest(std::string("echo ") + text + " >> /tmp/f; cat /tmp/f"), session);
    EXPECT_NE(Text(Result(last_).out.bytes).find(text), std::string::npos);
  }
}

// Prewarmed sandboxes can't be cloned either. Runs take cold ones, and nothing hangs.
TEST_F(CloneRefusedTest, RunsAtOnceAreAllCold) {
  StarveTemplate();
  std::vector<std::uint64_t> runs;
  for (int run = 0; run < 4; ++run)
    runs.push_back(Start(ShellRequest("echo x >> count")));
  for (const std::uint64_t run : runs) {
    const RunResult& result = Result(run);
    EXPECT_EQ(result.outcome.kind, OutcomeKind::kExited) << result.outcome.reason;
    EXPECT_EQ(result.start, SandboxStart::kCold);
    EXPECT_NE(result.cold_reason, "");
  }
  EXPECT_EQ(workspace_.Read("count"), "x\nx\nx\nx\n");
}

}  // namespace
}  // namespace native_runner

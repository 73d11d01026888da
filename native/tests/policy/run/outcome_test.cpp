#include "policy/run/outcome.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace native_runner {
namespace {

Report Exit(int status, std::uint64_t user_us = 0, std::uint64_t system_us = 0) {
  Report report;
  report.kind = ReportKind::kExited;
  report.wait_status = status;
  report.user_cpu_us = user_us;
  report.system_cpu_us = system_us;
  return report;
}

void ExpectOutcome(const Outcome& got, OutcomeKind kind, int exit_code, int signal,
                   const char* limit = "") {
  EXPECT_STREQ(OutcomeName(got.kind), OutcomeName(kind));
  EXPECT_EQ(got.exit_code, exit_code);
  EXPECT_EQ(got.signal, signal);
  EXPECT_EQ(got.limit, limit);
}

TEST(OutcomeOfFailedStart, KnowsAFixForAMissingTerminal) {
  Report report;
  report.kind = ReportKind::kRefused;
  std::strcpy(report.text, "terminal: /dev/ptmx");
  EXPECT_NE(OutcomeOfFailedStart(report).fix.find("pty"), std::string::npos);
  std::strcpy(report.text, "seccomp");
  EXPECT_EQ(OutcomeOfFailedStart(report).fix, "");
}

TEST(OutcomeOfFailedStart, BlamesNoTerminalForDescriptorsOnTheirWay) {
  Report report;
  report.kind = ReportKind::kRefused;
  report.error = ETOOMANYREFS;
  std::strcpy(report.text, "terminal: cannot hand it to the host");
  const std::string fix = OutcomeOfFailedStart(report).fix;
  EXPECT_EQ(fix.find("pty"), std::string::npos) << fix;
  EXPECT_NE(fix.find("ETOOMANYREFS"), std::string::npos) << fix;
}

TEST(OutcomeOfFailedStart, BlamesTheMachineWhereNoTerminalIsLeft) {
  Report report;
  report.kind = ReportKind::kRefused;
  report.error = ENOSPC;
  std::strcpy(report.text, "terminal: /dev/ptmx");
  const std::string fix = OutcomeOfFailedStart(report).fix;
  EXPECT_EQ(fix.find("leave out"), std::string::npos) << fix;
  EXPECT_NE(fix.find("kernel.pty.max"), std::string::npos) << fix;
}

TEST(OutcomeOfFailedStart, SaysTheErrorOnce) {
  Report report;
  report.kind = ReportKind::kRefused;
  report.error = ENOENT;
  for (const char* text : {"cannot enter /no", "cannot enter /no: No such file or directory"}) {
    std::strcpy(report.text, text);
    EXPECT_EQ(OutcomeOfFailedStart(report).reason, "cannot enter /no: No such file or directory");
  }
}

TEST(OutcomeOfExit, TellsExitFromSignal) {
  ExpectOutcome(OutcomeOfExit(Exit(0), {}, false), OutcomeKind::kExited, 0, 0);
  ExpectOutcome(OutcomeOfExit(Exit(7 << 8), {}, false), OutcomeKind::kExited, 7, 0);
  ExpectOutcome(OutcomeOfExit(Exit(255 << 8), {}, false), OutcomeKind::kExited, 255, 0);
  ExpectOutcome(OutcomeOfExit(Exit(9), {}, false), OutcomeKind::kSignaled, 137, 9);
  ExpectOutcome(OutcomeOfExit(Exit(15), {}, false), OutcomeKind::kSignaled, 143, 15);
  ExpectOutcome(OutcomeOfExit(Exit(11 | 0x80), {}, false), OutcomeKind::kSignaled, 139, 11);
  ExpectOutcome(OutcomeOfExit(Exit(64), {}, false), OutcomeKind::kSignaled, 192, 64);
  ExpectOutcome(OutcomeOfExit(Exit(0x137f), {}, false), OutcomeKind::kSetupFailed, 125, 0);
}

TEST(OutcomeOfExit, NamesTheCpuLimit) {
  Limits limits;
  limits.cpu_seconds = 2;
  const auto kind = OutcomeKind::kLimitExceeded;
  ExpectOutcome(OutcomeOfExit(Exit(24), limits, false), kind, 152, 24, "cpuSeconds");
  ExpectOutcome(OutcomeOfExit(Exit(9, 1'500'000, 500'000), limits, false), kind, 137, 9,
                "cpuSeconds");
  ExpectOutcome(OutcomeOfExit(Exit(9, 1'500'000, 499'999), limits, false), OutcomeKind::kSignaled,
                137, 9);
  ExpectOutcome(OutcomeOfExit(Exit(15, 9'000'000), limits, false), OutcomeKind::kSignaled, 143, 15);
  ExpectOutcome(OutcomeOfExit(Exit(0, 9'000'000), limits, false), OutcomeKind::kExited, 0, 0);
  limits.cpu_seconds = UINT64_MAX;  // no overflow in the comparison
  ExpectOutcome(OutcomeOfExit(Exit(9, 9'000'000), limits, false), OutcomeKind::kSignaled, 137, 9);
  limits.cpu_seconds = 0;  // kept as one second by the kernel
  ExpectOutcome(OutcomeOfExit(Exit(9, 10), limits, false), OutcomeKind::kSignaled, 137, 9);
}

TEST(OutcomeOfExit, BlamesOnlyLimitsThatWereSet) {
  ExpectOutcome(OutcomeOfExit(Exit(24), {}, false), OutcomeKind::kSignaled, 152, 24);
  ExpectOutcome(OutcomeOfExit(Exit(25), {}, false), OutcomeKind::kSignaled, 153, 25);
  ExpectOutcome(OutcomeOfExit(Exit(9, UINT64_MAX / 2), {}, false), OutcomeKind::kSignaled, 137, 9);
  Limits limits;
  limits.max_file_bytes = 0;
  ExpectOutcome(OutcomeOfExit(Exit(25), limits, false), OutcomeKind::kLimitExceeded, 153, 25,
                "maxFileBytes");
}

TEST(OutcomeOfExit, AnOutOfMemoryKillComesFirst) {
  Limits limits;
  limits.memory_bytes = 1 << 20;
  limits.cpu_seconds = 1;
  for (const int status : {9, 137 << 8}) {
    ExpectOutcome(OutcomeOfExit(Exit(status, 5'000'000), limits, true), OutcomeKind::kLimitExceeded,
                  137, 9, "memoryBytes");
  }
  // A command that went on without the process it lost ended by itself.
  ExpectOutcome(OutcomeOfExit(Exit(0), limits, true), OutcomeKind::kExited, 0, 0);
  ExpectOutcome(OutcomeOfExit(Exit(1 << 8), limits, true), OutcomeKind::kExited, 1, 0);
}

TEST(OutcomeOfExit, SeesThroughAShell) {
  Limits limits;
  limits.cpu_seconds = 1;
  ExpectOutcome(OutcomeOfExit(Exit(152 << 8, 1'000'000), limits, false),
                OutcomeKind::kLimitExceeded, 152, 24, "cpuSeconds");
  ExpectOutcome(OutcomeOfExit(Exit(152 << 8, 999'999), limits, false), OutcomeKind::kExited, 152,
                0);  // only a number
}

TEST(OutcomeOfFailedStart, FollowsTheShellsNumbers) {
  Report report;
  report.kind = ReportKind::kFailed;
  report.error = EACCES;
  ExpectOutcome(OutcomeOfFailedStart(report), OutcomeKind::kNotExecutable, 126, 0);
  report.error = ENOENT;
  ExpectOutcome(OutcomeOfFailedStart(report), OutcomeKind::kNotExecutable, 126, 0);
  report.not_found = 1;
  ExpectOutcome(OutcomeOfFailedStart(report), OutcomeKind::kNotFound, 127, 0);
}

TEST(OutcomeOfFailedStart, ARefusalIsASetUpFailureWithItsReason) {
  Report report;
  report.kind = ReportKind::kRefused;
  EXPECT_FALSE(OutcomeOfFailedStart(report).reason.empty());
  std::strcpy(report.text, "cannot install the seccomp filter");
  ExpectOutcome(OutcomeOfFailedStart(report), OutcomeKind::kSetupFailed, 125, 0);
  EXPECT_EQ(OutcomeOfFailedStart(report).reason, "cannot install the seccomp filter");
  report.error = EINVAL;
  EXPECT_EQ(OutcomeOfFailedStart(report).reason,
            "cannot install the seccomp filter: Invalid argument");
  report.error = 0;
  std::memset(report.text, 'x', sizeof report.text);  // not terminated
  EXPECT_EQ(OutcomeOfFailedStart(report).reason, std::string(sizeof report.text, 'x'));
}

TEST(Outcome, FixedKinds) {
  ExpectOutcome(TimedOut(), OutcomeKind::kTimedOut, 124, 9);
  ExpectOutcome(Aborted(), OutcomeKind::kAborted, 130, 0);
  ExpectOutcome(LeaseExpired(), OutcomeKind::kLeaseExpired, 137, 9);
  ExpectOutcome(Signaled(2), OutcomeKind::kSignaled, 130, 2);
  ExpectOutcome(SetupFailed("why"), OutcomeKind::kSetupFailed, 125, 0);
  EXPECT_EQ(SetupFailed("why").reason, "why");
}

TEST(OutcomeName, UsesTheContractsWords) {
  EXPECT_STREQ(OutcomeName(OutcomeKind::kExited), "exited");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kSignaled), "signaled");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kTimedOut), "timed-out");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kAborted), "aborted");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kNotFound), "not-found");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kNotExecutable), "not-executable");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kSetupFailed), "setup-failed");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kLimitExceeded), "limit-exceeded");
  EXPECT_STREQ(OutcomeName(OutcomeKind::kLeaseExpired), "lease-expired");
}

TEST(OutcomeOfExit, ALeaseThatHasExpiredIsTheCause) {
  Report report;
  report.kind = ReportKind::kExited;
  report.lease_expired = 1;
  for (const std::int32_t status : {0, 9, 7 << 8}) {
    report.wait_status = status;
    EXPECT_EQ(OutcomeOfExit(report, {}, false).kind, OutcomeKind::kLeaseExpired);
    EXPECT_EQ(OutcomeOfExit(report, {}, true).kind, OutcomeKind::kLeaseExpired);
  }
}

}  // namespace
}  // namespace native_runner

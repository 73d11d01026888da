#include <gtest/gtest.h>

#include <csignal>

#include "policy/run/outcome.h"

namespace native_runner {
namespace {

// The table is our own so that the room stays pure; here it is held against the system's numbers.
TEST(SignalName, AgreesWithTheSystem) {
  EXPECT_EQ(SignalName(SIGHUP), "SIGHUP");
  EXPECT_EQ(SignalName(SIGABRT), "SIGABRT");
  EXPECT_EQ(SignalName(SIGBUS), "SIGBUS");
  EXPECT_EQ(SignalName(SIGKILL), "SIGKILL");
  EXPECT_EQ(SignalName(SIGUSR1), "SIGUSR1");
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(SignalName(SIGUSR2), "SIGUSR2");
  EXPECT_EQ(SignalName(SIGPIPE), "SIGPIPE");
  EXPECT_EQ(SignalName(SIGTERM), "SIGTERM");
  EXPECT_EQ(SignalName(SIGSTKFLT), "SIGSTKFLT");
  EXPECT_EQ(SignalName(SIGCHLD), "SIGCHLD");
  EXPECT_EQ(SignalName(SIGXCPU), "SIGXCPU");
  EXPECT_EQ(SignalName(SIGXFSZ), "SIGXFSZ");
  EXPECT_EQ(SignalName(SIGIO), "SIGIO");
  EXPECT_EQ(SignalName(SIGPWR), "SIGPWR");
  EXPECT_EQ(SignalName(SIGSYS), "SIGSYS");
}

TEST(SignalName, NamesRealTimeSignalsByDistance) {
  EXPECT_EQ(SignalName(34), "SIGRTMIN");
  EXPECT_EQ(SignalName(35), "SIGRTMIN+1");
  EXPECT_EQ(SignalName(64), "SIGRTMIN+30");
}

TEST(SignalName, FallsBackToTheNumber) {
  EXPECT_EQ(SignalName(32), "SIG32");
  EXPECT_EQ(SignalName(33), "SIG33");
  EXPECT_EQ(SignalName(65), "SIG65");
  EXPECT_EQ(SignalName(0), "SIG0");
  EXPECT_EQ(SignalName(-1), "SIG-1");
}

}  // namespace
}  // namespace native_runner

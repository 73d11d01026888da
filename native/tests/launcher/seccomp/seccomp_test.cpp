// The filter on real system calls; each has the same call without the filter as its control.

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

std::string Call(Mode mode, const std::string& name, bool filtered) {
  OrderSpec spec{.argv = {ProbePath(), "call", name}};
  spec.header.flags = kOrderNoNewPrivs | (filtered ? kOrderSeccomp : 0u);
  const RunResult result = RunCommand(mode, spec);
  return result.out + result.err + result.last().text;
}

class SeccompTest : public LauncherTest {
 protected:
  static void ExpectBlocked(const std::string& name, int error) {
    EXPECT_EQ(Call(GetParam(), name, true), std::to_string(error) + "\n") << name;
    EXPECT_NE(Call(GetParam(), name, false), std::to_string(error) + "\n") << name << ", control";
  }
  static void ExpectAllowed(const std::string& name) {
    EXPECT_EQ(Call(GetParam(), name, true), "0\n") << name;
  }
};

TEST_P(SeccompTest, Namespaces) {
  ExpectBlocked("unshare", EPERM);
  ExpectBlocked("clone-user", EPERM);
  ExpectBlocked("clone3", ENOSYS);
  ExpectAllowed("clone-plain");
}

TEST_P(SeccompTest, Keyrings) {
  ExpectBlocked("keyctl", EPERM);
}

TEST_P(SeccompTest, IoUring) {
  ExpectBlocked("io_uring", EPERM);
}

TEST_P(SeccompTest, LinuxAio) {
  ExpectBlocked("io_setup", EPERM);
}

TEST_P(SeccompTest, SocketFamilies) {
  ExpectBlocked("vsock", EAFNOSUPPORT);
  ExpectBlocked("packet", EAFNOSUPPORT);
  ExpectAllowed("unix");
  ExpectAllowed("inet6");
  ExpectAllowed("netlink");
}

TEST_P(SeccompTest, PushingTerminalInput) {
  // Linux 6.2 and newer can refuse it by themselves (EIO): then there is no control.
  if (Call(GetParam(), "tiocsti", false) != "0\n") GTEST_SKIP() << "TIOCSTI does not work here";
  ExpectBlocked("tiocsti", EPERM);
  ExpectBlocked("tiocsti-high", EPERM);
}

TEST_P(SeccompTest, OtherArchitectures) {
#ifdef __x86_64__
  const std::string control = Call(GetParam(), "i386", false);
  if (control != "0\n") GTEST_SKIP() << "this kernel runs no 32-bit calls: " << control;
  EXPECT_EQ(Call(GetParam(), "i386", true), std::to_string(ENOSYS) + "\n");
#endif
}

TEST_P(SeccompTest, ThreadsAndProcessesStillWork) {
  OrderSpec spec{.argv = {"/bin/sh", "-c", "echo a | cat; (sleep 0.01 & wait); echo $?"}};
  spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp;
  EXPECT_EQ(Run(spec).out, "a\n0\n");
}

INSTANTIATE_LAUNCHER_MODES(SeccompTest);

}  // namespace
}  // namespace native_runner

// The terminal that the launcher makes for a live process.

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

class TerminalTest : public LauncherTest {
 protected:
  static OrderSpec Spec(const std::string& script, std::uint32_t more_flags = 0) {
    OrderSpec spec{.argv = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
    spec.header.flags = kOrderOwnSession | kOrderTerminal | more_flags;
    spec.header.terminal_columns = 91;
    spec.header.terminal_rows = 23;
    return spec;
  }

  // Reads until the other side is closed (EIO), or nothing comes in time.
  static std::string ReadTerminal(int terminal) {
    std::string text;
    std::array<char, 4096> buffer{};
    pollfd ready{terminal, POLLIN, 0};
    while (poll(&ready, 1, 10'000) == 1) {
      const ssize_t got = read(terminal, buffer.data(), buffer.size());
      if (got <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    ADD_FAILURE() << "it did not end after " << text;
    return text;
  }
};

TEST_P(TerminalTest, ComesBeforeReadyAndIsTheCommands) {
  LauncherHost host(GetParam());
  host.SendOrder(
      Spec("test -t 0 && test -t 1 && test -t 2 && stty size; tty; "
           ": > /dev/tty && echo own; exit 5"));
  const auto first = host.Receive();
  ASSERT_TRUE(first);
  ASSERT_EQ(first->kind, ReportKind::kTerminal) << first->text;
  ASSERT_GE(host.terminal(), 0);
  EXPECT_EQ(host.Receive()->kind, ReportKind::kReady);
  const std::string text = ReadTerminal(host.terminal());
  EXPECT_EQ(text.substr(0, 17), "23 91\r\n/dev/pts/0") << text;
  EXPECT_NE(text.find("own\r\n"), std::string::npos) << text;
  const RunResult result = host.Finish();
  ExpectExited(result, 5);
  EXPECT_EQ(result.out + result.err, "");
}

TEST_P(TerminalTest, CarriesInputAndKeysThatSignal) {
  LauncherHost host(GetParam());
  host.SendOrder(Spec("read -r line; echo got $line; read -r line"));
  ASSERT_EQ(host.Receive()->kind, ReportKind::kTerminal);
  ASSERT_EQ(host.Receive()->kind, ReportKind::kReady);
  ASSERT_EQ(write(host.terminal(), "hi\n", 3), 3);
  std::array<char, 64> buffer{};
  std::string text;
  while (text.find("got hi\r\n") == std::string::npos) {
    const ssize_t got = read(host.terminal(), buffer.data(), buffer.size());
    ASSERT_GT(got, 0) << text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ASSERT_EQ(write(host.terminal(), "\x03", 1), 1);
  const RunResult result = host.Finish();
  ASSERT_EQ(result.last().kind, ReportKind::kExited);
  ASSERT_TRUE(WIFSIGNALED(result.last().wait_status));
  EXPECT_EQ(WTERMSIG(result.last().wait_status), SIGINT);
}

TEST_P(TerminalTest, KeepsWhatWasWrittenBeforeTheEnd) {
  LauncherHost host(GetParam());
  host.SendOrder(Spec("seq 1 400"));
  ASSERT_EQ(host.Receive()->kind, ReportKind::kTerminal);
  const RunResult result = host.Finish();  // nobody has read by then
  ExpectExited(result, 0);
  const std::string text = ReadTerminal(host.terminal());
  EXPECT_EQ(text.substr(text.size() - 5), "400\r\n");
}

TEST_P(TerminalTest, UnderTheFilterCantBeTypedInto) {
  const auto typed = [](std::uint32_t flags) {
    OrderSpec spec = Spec("", flags);
    spec.argv = {ProbePath(), "call", "type"};
    LauncherHost host(GetParam());
    host.SendOrder(spec);
    EXPECT_EQ(host.Receive()->kind, ReportKind::kTerminal);
    return ReadTerminal(host.terminal());
  };
  EXPECT_EQ(typed(kOrderNoNewPrivs | kOrderSeccomp), "1\r\n");  // EPERM
  const std::string control = typed(0);
  // 0: typed; EIO where dev.tty.legacy_tiocsti is off.
  EXPECT_TRUE(control.find("0\r\n") != std::string::npos || control == "5\r\n") << control;
}

TEST_P(TerminalTest, OfACommandThatDoesNotStartSaysWhy) {
  OrderSpec spec = Spec("");
  spec.argv = {"no-such-command"};
  LauncherHost host(GetParam());
  host.SendOrder(spec);
  ASSERT_EQ(host.Receive()->kind, ReportKind::kTerminal);
  EXPECT_EQ(host.Finish().last().kind, ReportKind::kFailed);
  EXPECT_EQ(ReadTerminal(host.terminal()), "no-such-command: command not found\r\n");
}

INSTANTIATE_LAUNCHER_MODES(TerminalTest);

}  // namespace
}  // namespace native_runner

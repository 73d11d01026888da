// The launcher of a session: what it makes of the messages that a host sends.

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <span>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {
namespace {

// One command's side of a session: its control socket, and a pipe that is its stdout and stderr.
class Command {
 public:
  Command() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control_), 0);
    EXPECT_EQ(pipe2(out_, O_CLOEXEC), 0);
    null_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  }
  ~Command() {
    Drop();
    close(control_[0]);
    close(out_[0]);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  void Order(const std::vector<std::byte>& order) const {
    std::vector<std::byte> message = {static_cast<std::byte>(kOrderMessage)};
    message.insert(message.end(), order.begin(), order.end());
    send(control_[0], message.data(), message.size(), MSG_NOSIGNAL);
  }
  void Order(const std::string& script) const {
    const std::vector<std::string> argv = {"/bin/sh", "-c", script};
    Order(EncodeOrder({}, "", argv, std::vector<std::string>{"PATH=/usr/bin:/bin"}));
  }
  void Kill() const { send(control_[0], &kKillMessage, 1, MSG_NOSIGNAL); }

  std::array<int, 4> descriptors() const { return {control_[1], null_, out_[1], out_[1]}; }
  // Closes the test's own descriptors, so that only the launcher's are left.
  void Drop() {
    for (int* each : {&control_[1], &out_[1], &null_}) {
      if (*each >= 0) close(*each);
      *each = -1;
    }
  }

  // Empty: end of file, or nothing in time.
  std::optional<Report> Receive() const {
    pollfd entry{control_[0], POLLIN, 0};
    Report report;
    if (poll(&entry, 1, 10'000) != 1) return std::nullopt;
    const ssize_t got = recv(control_[0], &report, sizeof report, 0);
    return got == static_cast<ssize_t>(sizeof report) ? std::optional(report) : std::nullopt;
  }
  std::string ReadOut() const {
    std::string text;
    std::array<char, 256> bytes{};
    for (ssize_t got = 0; (got = read(out_[0], bytes.data(), bytes.size())) > 0;)
      text.append(bytes.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  int control_[2] = {-1, -1};
  int out_[2] = {-1, -1};
  int null_ = -1;
};

class SessionLauncherTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    host_.emplace(GetParam());
    // Every session sets it: without it, commands can't enter a Landlock domain of their own.
    const OrderHeader header{.flags = kOrderSession | kOrderNoNewPrivs};
    host_->SendOrder({.argv = {"session"}, .header = header});
    const auto ready = host_->Receive();
    ASSERT_TRUE(ready);
    ASSERT_EQ(ready->kind, ReportKind::kReady) << ready->text;
  }

  void Start(Command* command, const std::string& script) {
    command->Order(script);
    Hand(command);
  }
  void Hand(Command* command) {
    host_->SendDescriptors(kCommandMessage, command->descriptors());
    command->Drop();
  }
  static void ExpectEnd(const Command& command, int code) {
    const auto ready = command.Receive();
    ASSERT_TRUE(ready);
    EXPECT_EQ(ready->kind, ReportKind::kReady) << ready->text;
    const auto last = command.Receive();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->kind, ReportKind::kExited) << last->text;
    EXPECT_EQ(WEXITSTATUS(last->wait_status), code);
    EXPECT_EQ(last->error, 0);
    EXPECT_FALSE(command.Receive());
  }
  // The session has ended as it should, and all its processes with it.
  void ExpectSessionEnd() {
    const auto last = host_->Receive();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->kind, ReportKind::kExited);
    EXPECT_EQ(last->error, 0);
    EXPECT_FALSE(host_->Receive());
  }

  std::optional<LauncherHost> host_;
};

TEST_P(SessionLauncherTest, GivesEachCommandALauncherOfItsOwn) {
  std::array<Command, 3> commands;
  for (std::size_t i = 0; i < commands.size(); ++i)
    Start(&commands[i], "echo " + std::to_string(i) + "; exit " + std::to_string(i));
  for (std::size_t i = 0; i < commands.size(); ++i) {
    ExpectEnd(commands[i], static_cast<int>(i));
    EXPECT_EQ(commands[i].ReadOut(), std::to_string(i) + "\n");
  }
  host_->SendKill();
  ExpectSessionEnd();
}

TEST_P(SessionLauncherTest, EndsOneCommandAlone) {
  Command one;
  Command other;
  Start(&one, "setsid sleep 1000 & sleep 1000");
  Start(&other, "cat; echo up; sleep 0.5; exit 6");
  ASSERT_EQ(one.Receive()->kind, ReportKind::kReady);
  one.Kill();
  const auto last = one.Receive();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->kind, ReportKind::kExited);
  EXPECT_EQ(last->error, 0);
  EXPECT_EQ(one.ReadOut(), "") << "nobody has the pipe any more";
  ExpectEnd(other, 6);
}

TEST_P(SessionLauncherTest, RefusesABadOrderToThatCommandAlone) {
  Command bad;
  bad.Order(std::vector<std::byte>(40));
  Hand(&bad);
  const auto refused = bad.Receive();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, ReportKind::kRefused);
  Command good;
  Start(&good, "exit 2");
  ExpectEnd(good, 2);
}

TEST_P(SessionLauncherTest, TakesAnEndInPlaceOfAnOrder) {
  Command none;
  none.Kill();
  Hand(&none);
  const auto only = none.Receive();  // with the pidfd that shows its end
  ASSERT_TRUE(only);
  EXPECT_EQ(only->kind, ReportKind::kAwaitingOrder);
  EXPECT_FALSE(none.Receive());
  Command good;
  Start(&good, "exit 2");
  ExpectEnd(good, 2);
}

TEST_P(SessionLauncherTest, EndsWithWhatRunsAtAnythingButACommand) {
  Command running;
  Start(&running, "setsid sleep 1000 & echo up; sleep 1000");
  ASSERT_EQ(running.Receive()->kind, ReportKind::kReady);
  host_->SendMessage('?');
  ExpectSessionEnd();
  running.ReadOut();  // ends
}

TEST_P(SessionLauncherTest, EndsAtACommandWithTooFewDescriptors) {
  Command few;
  const auto descriptors = few.descriptors();
  host_->SendDescriptors(kCommandMessage, std::span(descriptors).first(2));
  ExpectSessionEnd();
}

TEST_P(SessionLauncherTest, EndsAtACommandWithoutDescriptors) {
  host_->SendMessage(kCommandMessage);
  ExpectSessionEnd();
}

TEST_P(SessionLauncherTest, EndsWithItsHost) {
  Command running;
  Start(&running, "setsid sleep 1000 & echo up; sleep 1000");
  ASSERT_EQ(running.Receive()->kind, ReportKind::kReady);
  host_->CloseChannel();
  while (running.Receive()) {
  }
  running.ReadOut();  // ends when the last that holds the pipe is gone
}

INSTANTIATE_LAUNCHER_MODES(SessionLauncherTest);

}  // namespace
}  // namespace native_runner

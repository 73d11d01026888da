#include "tests/launcher/support/launcher_host.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "policy/denials/observation.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

std::vector<std::string> LauncherCommand(Mode mode) {
  if (mode == Mode::kSubreaper) return {LauncherPath()};
  if (mode == Mode::kNoNamespaces) {
    // The limit is that user namespace's own (user_namespaces(7)).
    const char* const script = "echo 0 > /proc/sys/user/max_pid_namespaces && exec \"$0\"";
    return {"unshare", "--user", "--map-root-user", "sh", "-c", script, LauncherPath()};
  }
  const bool is_template = mode == Mode::kTemplate;
  std::vector<std::string> command{"bwrap", "--unshare-user", "--unshare-pid"};
  if (is_template)
    command.insert(command.end(), {"--unshare-ipc", "--unshare-uts", "--unshare-net"});
  const char* const capabilities = is_template ? "--cap-add" : "--cap-drop";
  command.insert(command.end(), {"--as-pid-1", "--die-with-parent", capabilities, "ALL"});
  command.insert(command.end(), {"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"});
  command.insert(command.end(), {"--", LauncherPath()});
  return command;
}

[[noreturn]] void ExecAsChild(const std::vector<std::string>& command, int control, int out,
                              int err, int leaked) {
  // Moves descriptors away first: their numbers may be among those that are replaced below.
  if (leaked >= 0) static_cast<void>(fcntl(leaked, F_DUPFD, 100));
  control = fcntl(control, F_DUPFD_CLOEXEC, 60);
  out = fcntl(out, F_DUPFD_CLOEXEC, 60);
  err = fcntl(err, F_DUPFD_CLOEXEC, 60);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
  dup2(out, 1);
  dup2(err, 2);
  dup2(control, kControlDescriptor);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (ssize_t got = 0; (got = read(fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

// In each pair, our end is the first.
struct LauncherHost::Pipes {
  int control[2];
  int out[2];
  int err[2];

  Pipes() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) std::abort();
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) std::abort();
  }
  ~Pipes() {
    for (const int fd : {control[1], out[1], err[1]})
      close(fd);
  }
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;
};

LauncherHost::LauncherHost(Mode mode, const Pipes& pipes)
    : mode_(mode), control_(pipes.control[0]), out_(pipes.out[0]), err_(pipes.err[0]) {}

LauncherHost::LauncherHost(Mode mode, int leaked) : mode_(mode) {
  const Pipes pipes;
  const auto command = LauncherCommand(mode);
  pid_ = fork();
  if (pid_ == 0) ExecAsChild(command, pipes.control[1], pipes.out[1], pipes.err[1], leaked);
  control_ = pipes.control[0];
  out_ = pipes.out[0];
  err_ = pipes.err[0];
}

std::unique_ptr<LauncherHost> LauncherHost::Clone(const CloneRequest& request, int cgroup) {
  const Pipes pipes;
  const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
  std::vector<int> descriptors = {pipes.control[1], null_device, pipes.out[1], pipes.err[1]};
  if (cgroup >= 0) descriptors.push_back(cgroup);
  SendDescriptors(kCloneMessage, descriptors, std::as_bytes(std::span(&request, 1)));
  close(null_device);
  return std::unique_ptr<LauncherHost>(new LauncherHost(Mode::kInit, pipes));
}

bool LauncherHost::Ends(int timeout_ms) const {
  for (int turn = 0; turn < timeout_ms; ++turn) {
    siginfo_t ended{};
    const int asked = WEXITED | WNOHANG | WNOWAIT;
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended, asked) == 0 && ended.si_pid == pid_)
      return true;
    usleep(1'000);
  }
  return false;
}

LauncherHost::~LauncherHost() {
  CloseChannel();
  if (pid_ > 0) {
    // The launcher ends its tree by itself; a kill would only hide that it hangs.
    waitpid(pid_, nullptr, 0);
  }
  for (const int fd : made_)
    close(fd);
  for (const int fd : {out_, err_, pidfd_, terminal_}) {
    if (fd >= 0) close(fd);
  }
}

void LauncherHost::SendOrder(const OrderSpec& spec) {
  OrderHeader header = spec.header;
  if (mode_ == Mode::kInit) header.flags |= kOrderIsInit;
  SendBytes(EncodeOrder(header, spec.cwd, spec.argv, spec.environment, spec.rules));
}

void LauncherHost::SendBytes(const std::vector<std::byte>& order) {
  const int file = memfd_create("order", MFD_CLOEXEC);
  if (write(file, order.data(), order.size()) != static_cast<ssize_t>(order.size())) std::abort();
  SendDescriptors(kOrderMessage, {&file, 1});
  close(file);
}

void LauncherHost::SendInMessage(const std::vector<std::byte>& order) {
  std::vector<std::byte> message = {static_cast<std::byte>(kOrderMessage)};
  message.insert(message.end(), order.begin(), order.end());
  send(control_, message.data(), message.size(), MSG_NOSIGNAL);
}

void LauncherHost::SendInput(int descriptor) {
  SendDescriptors(kInputMessage, {&descriptor, 1});
}

void LauncherHost::SendDescriptors(char kind, std::span<const int> descriptors,
                                   std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 8;
  iovec parts[] = {{&kind, 1}, {const_cast<std::byte*>(bytes.data()), bytes.size()}};
  alignas(cmsghdr) char space[CMSG_SPACE(kMost * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (!descriptors.empty()) {
    message.msg_control = space;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  sendmsg(control_, &message, MSG_NOSIGNAL);
}

void LauncherHost::SendMessage(char kind) {
  send(control_, &kind, 1, MSG_NOSIGNAL);
}

void LauncherHost::SendText(const std::string& message) {
  send(control_, message.data(), message.size(), MSG_NOSIGNAL);
}

void LauncherHost::SendSignal(int signal) {
  const char message[] = {kSignalMessage, static_cast<char>(signal)};
  send(control_, message, sizeof message, MSG_NOSIGNAL);
}

void LauncherHost::CloseChannel() {
  if (control_ >= 0) close(control_);
  control_ = -1;
}

std::optional<Report> LauncherHost::Receive(int timeout_ms) {
  auto report = ReceiveAny(timeout_ms);
  while (report && report->kind == ReportKind::kObserved)
    report = ReceiveAny(timeout_ms);
  return report && report->kind == ReportKind::kAwaitingOrder ? ReceiveAny(timeout_ms) : report;
}

bool LauncherHost::WaitStanding(int timeout_ms) {
  const auto report = ReceiveAny(timeout_ms);
  return report && report->kind == ReportKind::kAwaitingOrder;
}

std::optional<Report> LauncherHost::ReceiveAny(int timeout_ms) {
  pollfd ready{control_, POLLIN, 0};
  if (poll(&ready, 1, timeout_ms) != 1) return std::nullopt;
  Report report;
  std::vector<std::byte> records(kMostInObserved);
  iovec parts[] = {{&report, sizeof report}, {records.data(), records.size()}};
  alignas(cmsghdr) char space[CMSG_SPACE(kMostMade * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  const ssize_t got = recvmsg(control_, &message, MSG_CMSG_CLOEXEC);
  if (got < static_cast<ssize_t>(sizeof report)) return std::nullopt;
  records.resize(static_cast<std::size_t>(got) - sizeof report);
  if (records.empty() != (report.kind != ReportKind::kObserved)) return std::nullopt;
  for (Observation& each : ReadObservations(records))
    observations_.push_back(std::move(each));
  if (report.kind == ReportKind::kObserved) omitted_ = report.omitted;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && report.kind == ReportKind::kMade) {
    const std::size_t before = made_.size();
    made_.resize(before + (header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(made_.data() + before, CMSG_DATA(header), (made_.size() - before) * sizeof(int));
  } else if (header != nullptr) {
    int& place = report.kind == ReportKind::kTerminal ? terminal_ : pidfd_;
    if (place >= 0) close(place);
    std::memcpy(&place, CMSG_DATA(header), sizeof place);
  }
  return report;
}

std::string LauncherHost::ReadOut(std::size_t bytes) {
  std::array<char, 4096> buffer{};
  while (out_text_.size() < bytes) {
    const ssize_t got = read(out_, buffer.data(), buffer.size());
    if (got <= 0) break;
    out_text_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return out_text_;
}

bool LauncherHost::OutputEnds(int timeout_ms) {
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd ready{out_, POLLIN, 0};
    if (poll(&ready, 1, timeout_ms) != 1) return false;
    const ssize_t got = read(out_, buffer.data(), buffer.size());
    if (got <= 0) return got == 0;
    out_text_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

RunResult LauncherHost::Finish() {
  RunResult result;
  while (auto report = Receive())
    result.reports.push_back(*report);
  result.observations = std::move(observations_);
  result.observations_omitted = omitted_;
  CloseChannel();
  result.out = out_text_ + ReadAll(out_);
  result.err = ReadAll(err_);
  if (pid_ > 0) waitpid(pid_, &result.launcher_status, 0);
  pid_ = -1;
  if (result.reports.empty()) result.reports.emplace_back();  // so that last() is always there
  return result;
}

RunResult RunCommand(Mode mode, const OrderSpec& spec) {
  LauncherHost host(mode);
  host.SendOrder(spec);
  return host.Finish();
}

const std::string& BwrapProblem() {
  static const std::string problem = [] {
    const RunResult result = RunCommand(Mode::kInit, {.argv = {"/bin/true"}});
    const bool ok = result.last().kind == ReportKind::kExited;
    return ok ? std::string() : "bwrap does not work here: " + result.err;
  }();
  return problem;
}

std::string NoNamespacesProblem() {
  const RunResult result = RunCommand(Mode::kNoNamespaces, {.argv = {"/bin/true"}});
  const bool ok = result.last().kind == ReportKind::kExited;
  return ok ? std::string() : "unshare does not work here: " + result.err;
}

std::string ProbePath() {
  const char* chosen = std::getenv("NATIVE_RUNNER_LAUNCHER_PROBE");
  return chosen != nullptr ? chosen : NATIVE_RUNNER_LAUNCHER_PROBE;
}

std::string LauncherPath() {
  const char* chosen = std::getenv("NATIVE_RUNNER_LAUNCHER");
  return chosen != nullptr ? chosen : NATIVE_RUNNER_LAUNCHER;
}

}  // namespace native_runner

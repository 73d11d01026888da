#include "launcher/command/run_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "launcher/command/children.h"
#include "launcher/command/command.h"
#include "launcher/command/directory_move.h"
#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/seccomp/seccomp.h"
#include "launcher/trace/observations.h"
#include "launcher/trace/tracer.h"

namespace native_runner {
namespace {

// Makes sockets in the launcher's own network namespace, which is the sandbox's, for the
// connections that the host forwards (report.h). The host connects them: the launcher never waits
// for a server.
class SocketMaker {
 public:
  SocketMaker() = default;
  ~SocketMaker() { Close(); }
  SocketMaker(const SocketMaker&) = delete;
  SocketMaker& operator=(const SocketMaker&) = delete;

  // Readable when the host asks; negative before Serve().
  int descriptor() const { return channel_; }
  // Takes the socket on which the host asks, in place of an earlier one.
  void Serve(int channel) {
    Close();
    channel_ = channel;
  }
  // Answers what the host has asked, without waiting.
  void Answer() {
    char family = 0;
    long got = 0;
    while (channel_ >= 0 &&
           (got = kernel::Receive(channel_, &family, sizeof family, MSG_DONTWAIT)) > 0)
      SendSockets(family == kSocketsIpv6 ? AF_INET6 : AF_INET);
    if (got != -EAGAIN && got != -EINTR) Close();
  }
  void Close() {
    if (channel_ >= 0) kernel::Close(channel_);
    channel_ = -1;
  }

 private:
  void SendSockets(int family) const {
    SocketsReply reply;
    int made[kSocketsAtOnce] = {};
    while (reply.count < kSocketsAtOnce && reply.error == 0) {
      const int socket = kernel::OpenSocket(family, SOCK_STREAM | SOCK_NONBLOCK);
      if (socket >= 0)
        made[reply.count++] = socket;
      else
        reply.error = -socket;
    }
    iovec part{&reply, sizeof reply};
    union {
      cmsghdr header;
      char bytes[CMSG_SPACE(sizeof made)];
    } space{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (reply.count > 0) {
      const std::size_t size = reply.count * sizeof(int);
      message.msg_control = &space;
      message.msg_controllen = static_cast<decltype(message.msg_controllen)>(CMSG_SPACE(size));
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = static_cast<decltype(header->cmsg_len)>(CMSG_LEN(size));
      std::memcpy(CMSG_DATA(header), made, size);
    }
    kernel::Send(channel_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (std::uint32_t each = 0; each < reply.count; ++each)
      kernel::Close(made[each]);
  }

  int channel_ = -1;
};

// Returns when the command or its lease has ended, or when the host requests an end or is gone.
// `group`: the command's own process group, which signals are sent to; 0 if it has none. True if
// the lease is the reason.
bool Watch(const HostChannel& control, LeaseTimer& lease, pid_t group, Children* children,
           Renames* renames, Refusals* refusals) {
  using Wake = HostChannel::Wake;
  SocketMaker sockets;
  while (!children->command_ended()) {
    // At most one of them has a listener.
    const int listener =
        renames->descriptor() >= 0 ? renames->descriptor() : refusals->descriptor();
    HostChannel::Said said;
    const Wake wake = control.Wait({.child_signal = children->signal_descriptor(),
                                    .other = listener,
                                    .forward = sockets.descriptor(),
                                    .lease = lease.descriptor(),
                                    .most_ns = children->patience_ns()},
                                   &said);
    if (wake == Wake::kLeaseExtended) lease.Extend(said.lease_until_ns);
    if (wake == Wake::kForward) sockets.Serve(said.forward);
    sockets.Answer();
    children->Reap();
    if (wake == Wake::kLeaseEnded) return !children->command_ended();
    renames->Look();
    refusals->Look();
    if (wake == Wake::kEnd || (wake == Wake::kSignal && group == 0)) return false;
    // Until its leader is reaped, no other process can have its number.
    if (wake == Wake::kSignal && !children->command_ended()) kernel::Kill(-group, said.signal);
  }
  return false;
}

// True if the lease has ended. Reads the host's messages first, as HostChannel::Wait() does.
bool HasEnded(const HostChannel& control, LeaseTimer& lease) {
  while (lease.HasEnded()) {
    HostChannel::Said said;
    const HostChannel::Wake wake = control.Wait({.lease = lease.descriptor()}, &said);
    if (wake != HostChannel::Wake::kLeaseExtended) return true;
    lease.Extend(said.lease_until_ns);
  }
  return false;
}

// Reports a command whose lease ended before it was started.
void ReportNotStarted(const HostChannel& control) {
  Report report;
  report.kind = ReportKind::kExited;
  report.lease_expired = 1;
  report.at_ns = kernel::Now();
  control.SendLast(report);
}

// Closes the launcher's stdin once the command has it, if the host feeds it during the whole run:
// the host must see when the command closes it.
void CloseInput(const OrderHeader& order) {
  const bool is_pipe = (order.flags & (kOrderOwnSession | kOrderTerminal)) == kOrderOwnSession;
  if (is_pipe) kernel::Close(STDIN_FILENO);
}

}  // namespace

void RunCommand(const HostChannel& control, const MappedOrder& order, const Landlock& landlock,
                const OverlayRenames& overlay, LeaseTimer& lease) {
  if (HasEnded(control, lease)) return ReportNotStarted(control);
  static constinit Observations observations;  // large, and rarely touched
  static constinit Tracer tracer(&observations);
  const bool is_traced = (order.header.flags & kOrderExplain) != 0;
  StartFailure failure;
  Refusals refusals(&observations);
  Renames renames(overlay, landlock, &refusals);
  const pid_t command = StartCommand(order, landlock, overlay.is_there() ? &renames : nullptr,
                                     &refusals, is_traced ? &tracer : nullptr, &failure);
  if (command < 0) {
    observations.Send(control);
    return ReportStartFailure(control, order.argv[0], order.environment, failure);
  }

  CloseInput(order.header);
  Children children(command, is_traced ? &tracer : nullptr);
  const pid_t group = (order.header.flags & kOrderOwnSession) != 0 ? command : 0;
  const bool lease_expired = Watch(control, lease, group, &children, &renames, &refusals);
  const bool is_init = (order.header.flags & kOrderIsInit) != 0;
  const bool all_gone = KillTree(is_init, &children);
  renames.PutBack();
  observations.Send(control);

  Report report;
  report.kind = ReportKind::kExited;
  report.error = all_gone ? 0 : EBUSY;
  report.wait_status = children.command_status();
  report.killed = children.killed() ? 1 : 0;
  report.lease_expired = lease_expired ? 1 : 0;
  report.at_ns = children.command_ended_ns();
  AddUsage(&report);
  control.SendLast(report);
}

namespace {

bool IsNullDevice(int descriptor) {
  constexpr dev_t kNull = 0x103;  // 1:3, see null(4)
  struct stat status {};
  return kernel::Stat(descriptor, &status) == 0 && S_ISCHR(status.st_mode) &&
         status.st_rdev == kNull;
}

// Opens the null device inside where the host's is stdin: the mount that it is opened through
// decides whether the node's mode and times can be changed. A sandbox without one keeps the host's.
void UseOwnNullDevice() {
  if (!IsNullDevice(STDIN_FILENO)) return;
  const int own = kernel::Open("/dev/null", O_RDWR);
  if (own < 0) return;
  if (IsNullDevice(own)) kernel::Duplicate(own, STDIN_FILENO);
  kernel::Close(own);
}

}  // namespace

bool PrepareStreams(const HostChannel& control, const OrderHeader& header, Refusal* refusal) {
  UseOwnNullDevice();
  if ((header.flags & kOrderMergeStderr) != 0) {
    const long result = kernel::Duplicate(STDOUT_FILENO, STDERR_FILENO);
    return result >= 0 || refusal->Because("cannot merge stderr with stdout", result);
  }
  return (header.flags & kOrderTerminal) == 0 || OpenTerminal(control, header, refusal);
}

bool EnterDirectory(const char* cwd, Refusal* refusal) {
  if (*cwd == '\0') return true;
  const long result = kernel::ChangeDirectory(cwd);
  if (result == 0) return true;
  refusal->no_directory = true;
  refusal->text.Add("cannot enter ");
  return refusal->Because(cwd, result);
}

namespace {

// Untouched pages cost nothing.
constexpr std::size_t kLauncherStackBytes = kMoveStackBytes + 128 * 1024;
constexpr pid_t kNoCommand = -1;

struct CommandStart {
  CommandDescriptors descriptors;
  SocketMaker* sockets = nullptr;  // the session's
  const Landlock* landlock = nullptr;
  const OverlayRenames* overlay = nullptr;
  LayerSet enforced;
};

// Received descriptors have higher numbers, as all lower ones are taken.
long InstallDescriptors(const CommandDescriptors& descriptors) {
  const int* const from = descriptors.at;
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    const long result = kernel::Duplicate(from[1 + number], number);
    if (result < 0) return result;
  }
  const long result = kernel::Duplicate(from[0], kControlDescriptor);
  if (result < 0) return result;
  kernel::SetCloseOnExec(kControlDescriptor);
  // Kept here, they would hold a pipe open that the command has closed.
  for (const int descriptor : descriptors.at)
    kernel::Close(descriptor);
  return 0;
}

int RunCommandLauncher(void* argument) {
  const CommandStart& start = *static_cast<CommandStart*>(argument);
  start.sockets->Close();  // this process's copy: the host asks the session
  if (const long result = InstallDescriptors(start.descriptors); result < 0) {
    RefuseCommand(start.descriptors.at[0], "cannot place a descriptor", result);
    return 0;
  }
  HostChannel control;
  MappedOrder order;
  ReceivedOrder received;
  if (!TakeOrder(control, &received, &order)) return 0;
  Refusal refusal;
  const long result = kernel::Prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (result != 0) refusal.Because(Layer::kTreeKillSubreaper, result);
  LeaseTimer lease;
  if (result != 0 || !EnterDirectory(order.cwd, &refusal) ||
      !PrepareStreams(control, order.header, &refusal) || !lease.Begin(order.header, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  if (control.SendReady(start.enforced))
    RunCommand(control, order, *start.landlock, *start.overlay, lease);
  return 0;
}

// If no process can be started, reports that on the command's own socket.
void StartCommandLauncher(CommandStart* start) {
  alignas(16) static char stack[kLauncherStackBytes];  // each child has its own copy
  const long pid = kernel::Clone(SIGCHLD, stack + sizeof stack, RunCommandLauncher, start);
  if (pid < 0) RefuseCommand(start->descriptors.at[0], "cannot start a process", pid);
  for (const int descriptor : start->descriptors.at)
    kernel::Close(descriptor);
}

void WaitForMessageOrChild(int child_signal, int forward) {
  pollfd descriptors[] = {
      {kControlDescriptor, POLLIN, 0}, {child_signal, POLLIN, 0}, {forward, POLLIN, 0}};
  kernel::Poll(descriptors, 3, nullptr);
}

}  // namespace

bool PrepareSession(const OrderHeader& order, Refusal* refusal) {
  if (!IsProcOurs()) {
    return refusal->Because("a session needs a /proc that shows its own processes");
  }
  if ((order.flags & kOrderSeccomp) == 0) return true;
  const long result = InstallSeccomp(order.flags);
  return result == 0 || refusal->Because(Layer::kSeccomp, result);
}

void ServeSession(const HostChannel& control, const MappedOrder& session, const Landlock& landlock,
                  const OverlayRenames& overlay, LayerSet enforced) {
  const bool is_init = (session.header.flags & kOrderIsInit) != 0;
  Children children(kNoCommand);
  enforced.Remove(Layer::kPidNamespace);
  SocketMaker sockets;
  CommandStart start{{}, &sockets, &landlock, &overlay, enforced};
  for (bool goes_on = children.signal_descriptor() >= 0; goes_on;) {
    WaitForMessageOrChild(children.signal_descriptor(), sockets.descriptor());
    sockets.Answer();
    children.Reap();
    switch (control.ReceiveCommand(&start.descriptors)) {
      case HostChannel::SessionMessage::kNothing:
        break;
      case HostChannel::SessionMessage::kCommand:
        StartCommandLauncher(&start);
        break;
      case HostChannel::SessionMessage::kForward:
        sockets.Serve(start.descriptors.at[0]);
        break;
      case HostChannel::SessionMessage::kEnd:
        goes_on = false;
    }
  }
  Report report;
  report.kind = ReportKind::kExited;
  report.error = KillTree(is_init, &children) ? 0 : EBUSY;
  AddUsage(&report);
  control.SendLast(report);
}

}  // namespace native_runner

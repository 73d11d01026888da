#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

#include "launcher/command/command.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "launcher/command/children.h"
#include "launcher/command/descendants.h"
#include "launcher/command/directory_move.h"
#include "launcher/command/renames.h"
#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"
#include "launcher/layers/layers.h"
#include "launcher/seccomp/seccomp.h"
#include "launcher/trace/observations.h"
#include "launcher/trace/traced_calls.h"
#include "launcher/trace/tracer.h"

namespace native_runner {
namespace {

struct ExecFailure {
  int error = 0;           // errno
  bool not_found = false;  // the command does not exist; false: it exists but can't be run
};

constexpr char kShell[] = "/bin/sh";
constexpr char kDefaultPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const char* SearchPath(char** environment) {
  constexpr char kName[] = "PATH=";
  for (; *environment != nullptr; ++environment) {
    const char* at = *environment;
    const char* name = kName;
    while (*name != '\0' && *at == *name) {
      ++at;
      ++name;
    }
    if (*name == '\0') return at;
  }
  return kDefaultPath;
}

int ExecFile(const char* path, char** argv, char** environment) {
  const auto error = static_cast<int>(-kernel::Execute(path, argv, environment));
  if (error != ENOEXEC) return error;
  char* const name = argv[0];
  argv[-1] = const_cast<char*>(kShell);
  argv[0] = const_cast<char*>(path);
  kernel::Execute(kShell, argv - 1, environment);
  argv[0] = name;
  return ENOEXEC;
}

// Returns a pointer to the first `byte` in `text`, or to its end.
const char* Find(const char* text, char byte) {
  while (*text != '\0' && *text != byte)
    ++text;
  return text;
}

// True for errors after which execvp(3) continues along PATH.
bool IsWorthSearchingOn(int error) {
  return error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE ||
         error == ENODEV || error == ETIMEDOUT;
}

// Executes the command argv[0], searched as execvp(3) does but along the PATH of `environment`, the
// command's own. Returns only on failure. `argv[-1]` must be a spare entry, see MappedOrder. Runs
// between clone and exec, in memory that is shared with the launcher.
ExecFailure Exec(char** argv, char** environment) {
  const char* const name = argv[0];
  if (*name == '\0' || *Find(name, '/') != '\0') {
    const int error = ExecFile(name, argv, environment);
    return {error, error == ENOENT && !kernel::Exists(name)};
  }

  ExecFailure failure{ENOENT, true};
  for (const char* directory = SearchPath(environment);;) {
    const char* const end = Find(directory, ':');
    FixedText<PATH_MAX> path;
    path.Add(directory, static_cast<std::size_t>(end - directory));
    if (path.size() != 0) path.Add("/");  // an empty entry is the working directory
    path.Add(name);
    // Checking first costs less than a failing execve(2), and distinguishes a missing file from a
    // script whose interpreter is missing.
    if (!path.cut() && kernel::Exists(path.c_str())) {
      const int error = ExecFile(path.c_str(), argv, environment);
      if (!IsWorthSearchingOn(error)) return {error, false};
      if (failure.error != EACCES) failure = {error, false};
    }
    if (*end == '\0') return failure;
    directory = end + 1;
  }
}

// A symbolic link that leads to nothing the command can see.
struct DanglingLink {
  FixedText<PATH_MAX> path;  // empty: none was found
  char target[PATH_MAX] = {};

  bool Take(const char* link) {
    if (kernel::Exists(link)) return false;
    const long size = kernel::ReadLink(link, target, sizeof target - 1);
    if (size <= 0) return false;
    target[size] = '\0';
    path.Clear();
    path.Add(link);
    return true;
  }
};

// Looks where Exec() does for a link in the place of a program that it did not find. On NixOS all
// programs are links into a directory that a sandbox may lack.
void FindDanglingLink(const char* name, char** environment, DanglingLink* found) {
  if (*Find(name, '/') != '\0') {
    found->Take(name);
    return;
  }
  if (*name == '\0') return;
  for (const char* directory = SearchPath(environment);;) {
    const char* const end = Find(directory, ':');
    FixedText<PATH_MAX> path;
    path.Add(directory, static_cast<std::size_t>(end - directory));
    if (path.size() != 0) path.Add("/");
    path.Add(name);
    if (!path.cut() && found->Take(path.c_str())) return;
    if (*end == '\0') return;
    directory = end + 1;
  }
}

constexpr char kMultiplexer[] = "/dev/ptmx";

// The kernel's struct winsize of ioctl_tty(2).
struct WindowSize {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::uint16_t width_pixels = 0;
  std::uint16_t height_pixels = 0;
};

// Sets IUTF8, so that erasing a character removes all its bytes.
void UseUtf8(int terminal) {
  termios settings{};
  if (kernel::DeviceControl(terminal, TCGETS, &settings) != 0) return;
  settings.c_iflag |= IUTF8;
  kernel::DeviceControl(terminal, TCSETS, &settings);
}

// Unlocks the terminal, sets its size and opens its other side. Uses no path (TIOCGPTPEER), so no
// other file can be in its place. Returns -errno on failure.
int OpenPeer(int master, const OrderHeader& header) {
  int locked = 0;
  long result = kernel::DeviceControl(master, TIOCSPTLCK, &locked);
  const WindowSize size{header.terminal_rows, header.terminal_columns};
  if (result == 0) result = kernel::DeviceControl(master, TIOCSWINSZ, &size);
  if (result != 0) return static_cast<int>(result);
  return static_cast<int>(
      kernel::DeviceControl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

long InstallStandardStreams(int peer) {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const long result = kernel::Duplicate(peer, number);
    if (result < 0) return result;
  }
  return 0;
}

}  // namespace

bool OpenTerminal(const HostChannel& control, const OrderHeader& header, Refusal* refusal) {
  const int master = kernel::Open(kMultiplexer, O_RDWR | O_NOCTTY);
  if (master < 0) return refusal->Because("terminal: /dev/ptmx", master);
  const int peer = OpenPeer(master, header);
  long result = peer;
  if (peer >= 0) {
    UseUtf8(peer);
    result = InstallStandardStreams(peer);
    kernel::Close(peer);
  }
  const long sent = result >= 0 ? control.SendTerminal(master) : 0;
  kernel::Close(master);
  if (result < 0) return refusal->Because("terminal", result);
  return sent >= 0 || refusal->Because("terminal: cannot hand it to the host", sent);
}

long EnterSession(bool with_terminal) {
  const long session = kernel::NewSession();
  if (session < 0 || !with_terminal) return session < 0 ? session : 0;
  return kernel::DeviceControl(STDIN_FILENO, TIOCSCTTY, 0);
}

namespace {

constexpr std::size_t kStackBytes =
    32 * 1024;  // holds a path of Exec(); untouched pages cost nothing

struct Start {
  const MappedOrder* order = nullptr;
  const Landlock* landlock = nullptr;
  bool is_listened_to = false;
  bool is_traced = false;
  StartFailure failure;
  long listener = -1;
  TracedStart traced;
};

constexpr int kFailed = 127;

int Fail(StartFailure* failure, StartFailure::Step step, long result) {
  failure->step = step;
  failure->error = static_cast<int>(-result);
  return kFailed;
}

// Runs in the command's process. The filter comes last, so that it need not allow the calls of the
// earlier steps.
int ExecuteCommand(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  const OrderHeader& header = start.order->header;
  StartFailure* failure = &start.failure;

  if (start.is_traced) start.traced.WaitForTracer();
  kernel::SetSignalMask(kernel::kNoSignals);
  // glibc's posix_spawn(3) has its own two ignored, and takes no order to reset them.
  for (const int internal : {32, 33})
    kernel::SetDefaultAction(internal);
  // Without a pid namespace, a killed launcher takes at least the command with it.
  if ((header.flags & kOrderIsInit) == 0) kernel::Prctl(PR_SET_PDEATHSIG, SIGKILL);
  long result = 0;
  if ((header.flags & kOrderOwnSession) != 0) {
    result = EnterSession((header.flags & kOrderTerminal) != 0);
  }
  if (result != 0) return Fail(failure, StartFailure::Step::kSession, result);
  start.landlock->AllowOwnProcess();  // before the limit of open files
  failure->limit = ApplyLimits(header, &result);
  if (failure->limit != nullptr) return Fail(failure, StartFailure::Step::kLimits, result);
  result = start.landlock->Enter();
  if (result != 0) return Fail(failure, StartFailure::Step::kLandlock, result);
  if ((header.flags & kOrderSeccomp) != 0) {
    start.listener = InstallReporting(header.flags, start.is_listened_to);
    if (start.listener < 0) result = InstallSeccomp(header.flags);
  }
  if (result != 0) return Fail(failure, StartFailure::Step::kSeccomp, result);
  if (start.is_listened_to && start.listener < 0) {
    start.listener = ListenToRenames();
    if (start.listener < 0) return Fail(failure, StartFailure::Step::kRenames, start.listener);
  }
  if (start.is_traced) result = InstallTraceFilter((header.flags & kOrderLookUps) != 0);
  if (result != 0) return Fail(failure, StartFailure::Step::kTrace, result);
  const ExecFailure exec = Exec(start.order->argv, start.order->environment);
  *failure = {StartFailure::Step::kExec, exec.error, nullptr, exec.not_found};
  return kFailed;
}

// Clones into separate memory, so that the launcher need not wait for execve(2): the calls before
// it are traced too.
long CloneTraced(Start* start, unsigned long shared, char* stack_end, Tracer* tracer) {
  const long pid = kernel::Clone(SIGCHLD | shared, stack_end, ExecuteCommand, start);
  if (pid < 0) return pid;
  const long result = start->traced.Attach(static_cast<pid_t>(pid));
  if (result != 0) {
    Fail(&start->failure, StartFailure::Step::kTrace, result);
    kernel::Kill(static_cast<pid_t>(pid), SIGKILL);
  } else {
    TracedStart::Follow(static_cast<pid_t>(pid), tracer);
  }
  return pid;
}

// Maps a Start that the launcher and the command's process share; nullptr on failure.
Start* SharedStart() {
  const long page =
      kernel::Map(sizeof(Start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  if (page < 0) return nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a call's result
  auto* const start = reinterpret_cast<Start*>(page);
  *start = Start();
  return start;
}

}  // namespace

pid_t StartCommand(const MappedOrder& order, const Landlock& landlock, Renames* renames,
                   Refusals* refusals, Tracer* tracer, StartFailure* failure) {
  alignas(16) char stack[kStackBytes];  // NOLINT(cppcoreguidelines-pro-type-member-init): untouched
  Start own;
  Start* const start = tracer == nullptr ? &own : SharedStart();
  if (start == nullptr) {
    Fail(failure, StartFailure::Step::kTrace, -ENOMEM);
    return -1;
  }
  start->order = &order;
  start->landlock = &landlock;
  start->is_listened_to = renames != nullptr;
  start->is_traced = tracer != nullptr;
  // The shared descriptor table gives the launcher the listener's descriptor. execve(2) gives the
  // command a table of its own, and closes the listener there.
  const bool is_filtered = (order.header.flags & kOrderSeccomp) != 0;
  const unsigned long shared = renames != nullptr || is_filtered ? CLONE_FILES : 0;
  const long pid = tracer == nullptr ? kernel::Clone(CLONE_VM | CLONE_VFORK | SIGCHLD | shared,
                                                     stack + sizeof stack, ExecuteCommand, start)
                                     : CloneTraced(start, shared, stack + sizeof stack, tracer);
  if (pid < 0) {
    Fail(failure, StartFailure::Step::kProcess, pid);
    return -1;
  }
  *failure = start->failure;
  if (failure->step == StartFailure::Step::kNone) {
    const auto listener = static_cast<int>(start->listener);
    if (renames != nullptr) {
      renames->Listen(listener);
    } else if (listener >= 0) {
      refusals->Listen(listener);
    }
    return static_cast<pid_t>(pid);
  }
  if (start->listener >= 0) kernel::Close(static_cast<int>(start->listener));
  kernel::Wait(static_cast<pid_t>(pid), nullptr, __WALL);
  return -1;
}

namespace {

// A command's name can be as long as an argument. Cut so that an empty pipe takes the message
// without waiting.
constexpr std::size_t kMaxNameBytes = PATH_MAX;

// Room for a name and a link with its target.
using MessageText = FixedText<3 * kMaxNameBytes + 128>;

MessageText NotFoundText(const char* command, char** environment) {
  MessageText text;
  text.Add("command not found");
  DanglingLink link;
  FindDanglingLink(command, environment, &link);
  if (link.path.size() == 0) return text;
  text.Add(": ").Add(link.path.c_str()).Add(" is a link to ").Add(link.target);
  text.Add(", which this sandbox does not show");
  return text;
}

void WriteMessage(const char* command, const char* reason) {
  FixedText<kMaxNameBytes> name;
  name.Add(command);
  MessageText line;
  line.Add(name.c_str(), name.size()).Add(": ").Add(reason).Add("\n");
  kernel::Write(STDERR_FILENO, line.c_str(), line.size());
}

}  // namespace

void ReportStartFailure(const HostChannel& control, const char* command, char** environment,
                        const StartFailure& failure) {
  Refusal refusal;
  switch (failure.step) {
    case StartFailure::Step::kNone:
    case StartFailure::Step::kExec: {
      WriteMessage(command, failure.not_found ? NotFoundText(command, environment).c_str()
                                              : ErrnoText(failure.error));
      Report report;
      report.kind = ReportKind::kFailed;
      report.error = failure.error;
      report.at_ns = kernel::Now();
      report.not_found = failure.not_found ? 1 : 0;
      control.SendLast(report);
      return;
    }
    case StartFailure::Step::kProcess:
      refusal.Because("cannot start a process", -failure.error);
      break;
    case StartFailure::Step::kSession:
      refusal.Because("terminal: cannot make a session", -failure.error);
      break;
    case StartFailure::Step::kLimits:
      refusal.Because(Layer::kRlimits, failure.limit, -failure.error);
      break;
    case StartFailure::Step::kLandlock:
      refusal.Because(Layer::kLandlockFiles, -failure.error);
      break;
    case StartFailure::Step::kSeccomp:
      refusal.Because(Layer::kSeccomp, -failure.error);
      break;
    case StartFailure::Step::kTrace:
      refusal.Because("explain: cannot trace the command", -failure.error);
      break;
    case StartFailure::Step::kRenames:
      refusal.Because(Layer::kRenameDirectories, -failure.error);
      break;
  }
  control.SendRefused(refusal);
}

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

#include "launcher/namespaces/template.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"
#include "launcher/layers/layers.h"
#include "launcher/namespaces/namespaces.h"
#include "protocol/identity.h"
#include "protocol/order.h"
#include "protocol/report.h"

namespace native_runner {
namespace {

// A host's request for a clone. The descriptors are close-on-exec; the receiver closes them.
struct AskedClone {
  CloneRequest request;
  int at[kCommandDescriptors] = {-1, -1, -1, -1};  // control socket, stdin, stdout, stderr
  int cgroup = -1;                                 // cgroup directory of the new process, or -1

  void Close();
};

enum class NextClone { kAsked, kEnd };

constexpr std::size_t kMost = kCommandDescriptors + 1;  // with the cgroup

// Stores the received descriptors and returns their number.
std::size_t TakeAll(const msghdr& message, int* descriptors) {
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return 0;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  if (count > kMost) return 0;
  std::memcpy(descriptors, CMSG_DATA(header), count * sizeof(int));
  return count;
}

void AskedClone::Close() {
  for (int& descriptor : at) {
    if (descriptor >= 0) kernel::Close(descriptor);
    descriptor = -1;
  }
  if (cgroup >= 0) kernel::Close(cgroup);
  cgroup = -1;
}

// Waits for the host's next message on the template's control socket. kEnd: the host's end, or
// anything but a whole request.
NextClone ReceiveClone(AskedClone* asked) {
  char kind = 0;
  iovec parts[] = {{&kind, 1}, {&asked->request, sizeof asked->request}};
  union {
    cmsghdr header;
    char bytes[CMSG_SPACE(kMost * sizeof(int))];
  } space{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = &space;
  message.msg_controllen = CMSG_LEN(kMost * sizeof(int));
  long got = 0;
  do {
    got = kernel::Receive(kControlDescriptor, &message, MSG_CMSG_CLOEXEC);
  } while (got == -EINTR);
  if (got <= 0) return NextClone::kEnd;
  int descriptors[kMost] = {};
  const std::size_t count = TakeAll(message, descriptors);
  for (std::size_t at = 0; at < count && at < kCommandDescriptors; ++at)
    asked->at[at] = descriptors[at];
  if (count == kMost) asked->cgroup = descriptors[kMost - 1];
  const bool is_whole = got == 1 + sizeof asked->request && kind == kCloneMessage &&
                        (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0 &&
                        count >= kCommandDescriptors;
  return is_whole ? NextClone::kAsked : NextClone::kEnd;
}

// The steps of a template, read once, with what each clone's set-up needs to know beforehand.
struct CloneSteps {
  char** steps = nullptr;      // as in the order, ended by nullptr
  const char* proc = nullptr;  // path of the template's proc(5)
  bool is_proc_read_only = false;
  bool has_network = false;  // each clone has a network namespace of its own
  bool listens = false;      // to which something is added that clones don't share
  long outer_uid = 0;        // the template's own ids
  long outer_gid = 0;
  UserMap user;                    // of the user namespace that commands are in
  bool is_last_namespace = false;  // that one can't have user namespaces inside
};

constexpr unsigned long kProcFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

bool RefuseStep(Refusal* refusal) {
  return refusal->Because("the order has a step that no clone can take", -EINVAL);
}

// Reads UID:GID, with or without a "-" after it.
bool ReadLeave(const char* text, CloneSteps* read) {
  std::uint64_t uid = 0;
  std::uint64_t gid = 0;
  if (!TakeDecimal(&text, &uid) || *text++ != ':' || !TakeDecimal(&text, &gid)) return false;
  read->is_last_namespace = *text == '-';
  if (read->is_last_namespace) ++text;
  read->user = {static_cast<long>(uid), static_cast<long>(gid), 0, 0};
  return *text == '\0' && uid < UINT_MAX && gid < UINT_MAX;
}

// Makes the process dumpable for the mapping, as root may own the files of one that is not
// (proc(5)). No command runs yet that could make use of it.
bool MapWhileDumpable(const UserMap& map, int proc) {
  kernel::Prctl(PR_SET_DUMPABLE, 1);
  const bool is_mapped = MapUser(map, proc);
  kernel::Prctl(PR_SET_DUMPABLE, 0);
  return is_mapped;
}

// A path of a step's text.
using Line = FixedText<PATH_MAX>;

// Takes a line, which ends with a newline or with the text. False if it is no absolute path.
bool TakeLine(const char** text, Line* line) {
  std::size_t size = 0;
  while ((*text)[size] != '\0' && (*text)[size] != '\n')
    ++size;
  line->Clear();
  line->Add(*text, size);
  *text += size;
  if (**text == '\n') ++*text;
  return line->c_str()[0] == '/' && !line->cut();
}

class Taker {
 public:
  // `has_used`: the clone is in a network namespace that was used before.
  Taker(const CloneSteps& steps, const CloneRequest& request, bool has_used, int proc,
        const HostChannel& control, Refusal* refusal)
      : steps_(steps),
        request_(request),
        has_used_(has_used),
        proc_(proc),
        control_(control),
        refusal_(refusal) {}

  bool MakeNamespaces() const {
    // Root inside: the owner of devpts' files must be a mapped user.
    if (!MapWhileDumpable({0, 0, steps_.outer_uid, steps_.outer_gid}, proc_)) {
      return refusal_->Because(Layer::kUserNamespace, "its ids can't be set");
    }
    unsigned long kinds = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    if (steps_.has_network && !has_used_) kinds |= CLONE_NEWNET;
    const long result = kernel::Unshare(kinds);
    return result == 0 || refusal_->Because(Layer::kMountNamespace, result);
  }

  // Before all steps, since the clone's /tmp may hide the template's home.
  bool EnterHome(const char* step) const {
    Line home;
    const char* lines = step + 1;
    if (!TakeLine(&lines, &home)) return RefuseStep(refusal_);
    const long entered = kernel::ChangeDirectory(home.c_str());
    return entered == 0 || RefuseMount(home, entered);
  }

  bool Take(const char* step) const {
    const char* const text = step + 1;
    switch (*step) {
      case kStepProc:
        return Mount("proc", steps_.proc,
                     steps_.is_proc_read_only ? kProcFlags | MS_RDONLY : kProcFlags, nullptr);
      case kStepTmpfs:
        return MountTmpfs(text, "mode=0755");
      case kStepHome:
        return MakeHome(text);
      case kStepFile:
        return MakeTextFile(text);
      case kStepTerminals:
        return Mount("devpts", text, MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620");
      case kStepNetworkNamespace:
        return has_used_ || BringUpLoopback(refusal_);
      case kStepLocalBlock:
        return MakeBlockLocal(text, refusal_);
      case kStepListen:
        return Listen(text);
      case kStepLeave:
        return Leave();
      default:
        return RefuseStep(refusal_);
    }
  }

 private:
  bool Mount(const char* type, const char* path, unsigned long flags, const char* options) const {
    const long result = kernel::Mount(type, path, type, flags, options);
    if (result == 0) return true;
    refusal_->text.Add("mount of ").Add(type).Add(" on ");
    return refusal_->Because(path, result);
  }

  bool MountTmpfs(const char* path, const char* mode) const {
    FixedText<48> options;
    options.Add(mode);
    if (request_.tmp_bytes != 0)
      options.Add(",size=").AddNumber(static_cast<long>(request_.tmp_bytes));
    return Mount("tmpfs", path, MS_NOSUID | MS_NODEV, options.c_str());
  }

  // The working directory is the template's home (EnterHome), which the clone's hides.
  bool MakeHome(const char* lines) const {
    Line home;
    if (!TakeLine(&lines, &home)) return RefuseStep(refusal_);
    return MakeDirectories(home, 0) && MountTmpfs(home.c_str(), "mode=0700") &&
           BindIntoHome(lines, home.size());
  }

  // Binds the template's mounts at the paths of `lines`, which lie below the home's `known`
  // characters.
  bool BindIntoHome(const char* lines, std::size_t known) const {
    Line before;  // the directories above it are made
    for (Line path; *lines != '\0';) {
      if (!TakeLine(&lines, &path) || path.size() <= known + 1) return RefuseStep(refusal_);
      const char* const below = path.c_str() + known + 1;
      const std::size_t shared = SharedDirectories(path, before);
      if (!MakePlace(path, below, shared > known ? shared : known)) return false;
      const long result = kernel::Mount(below, path.c_str(), nullptr, MS_BIND | MS_REC);
      if (result != 0) return RefuseMount(path, result);
      before.Clear();
      before.Add(path.c_str(), path.size());
    }
    return true;
  }

  // Returns the length of the longest directory that both paths lie in.
  static std::size_t SharedDirectories(const Line& one, const Line& other) {
    std::size_t shared = 0;
    for (std::size_t at = 0; at < one.size() && at < other.size(); ++at) {
      if (one.c_str()[at] != other.c_str()[at]) break;
      if (one.c_str()[at] == '/') shared = at;
    }
    return shared;
  }

  bool RefuseMount(const Line& path, long result) const {
    refusal_->text.Add("mount on ");
    return refusal_->Because(path.c_str(), result);
  }

  // Makes the missing directories of `path`, which begin after `known` characters, and itself.
  bool MakeDirectories(const Line& path, std::size_t known) const {
    Line above;
    for (std::size_t at = known + 1; at <= path.size(); ++at) {
      if (path.c_str()[at] != '/' && path.c_str()[at] != '\0') continue;
      above.Clear();
      above.Add(path.c_str(), at);
      const long result = kernel::MakeDirectory(above.c_str(), 0755);
      if (result != 0 && result != -EEXIST && result != -EROFS) return RefuseMount(above, result);
    }
    return true;
  }

  // Makes a place for the mount at `below` in the working directory: a directory or a file, as it
  // is one.
  bool MakePlace(const Line& path, const char* below, std::size_t known) const {
    struct stat status {};
    const long looked = kernel::Stat(below, &status);
    if (looked != 0) return RefuseMount(path, looked);
    if ((status.st_mode & S_IFMT) == S_IFDIR) return MakeDirectories(path, known);
    std::size_t end = path.size();
    while (end > 0 && path.c_str()[end] != '/')
      --end;
    Line above;
    above.Add(path.c_str(), end);
    if (end > known && !MakeDirectories(above, known)) return false;
    const int file = kernel::MakeFile(path.c_str(), 0644);
    if (file < 0 && file != -EEXIST) return RefuseMount(path, file);
    if (file >= 0) kernel::Close(file);
    return true;
  }

  bool MakeTextFile(const char* text) const {
    Line path;
    if (!TakeLine(&text, &path)) return RefuseStep(refusal_);
    const int file = kernel::MakeFile(path.c_str(), 0644);
    if (file < 0) return RefuseMount(path, file);
    const std::size_t size = std::strlen(text);
    const long written = kernel::Write(file, text, size);
    kernel::Close(file);
    return written == static_cast<long>(size) || RefuseMount(path, written);
  }

  bool Listen(const char* ports) const {
    BoundSockets bound;
    if (!BindPorts(ports, &bound, refusal_)) return false;
    const long sent = control_.SendMade(bound.at, bound.count);
    return sent >= 0 || refusal_->Because("what was made can't be handed over", sent);
  }

  // From here on no process in the clone owns its mounts, its network or its pid namespace.
  bool Leave() const {
    const long result = kernel::Unshare(CLONE_NEWUSER);
    if (result != 0) return refusal_->Because(Layer::kUserNamespace, result);
    if (!MapWhileDumpable(steps_.user, proc_)) {
      return refusal_->Because(Layer::kUserNamespace, "the user's ids can't be set");
    }
    if (steps_.is_last_namespace && !ForbidUserNamespaces()) return false;
    DropCapabilities();
    kernel::NewSession();
    return true;
  }

  bool ForbidUserNamespaces() const {
    const int most = kernel::OpenIn(proc_, "sys/user/max_user_namespaces", O_WRONLY);
    const long result = most < 0 ? most : kernel::Write(most, "0", 1);
    if (most >= 0) kernel::Close(most);
    return result == 1 || refusal_->Because(Layer::kUsernsDisabled, result);
  }

  const CloneSteps& steps_;
  const CloneRequest& request_;
  bool has_used_;
  int proc_;
  const HostChannel& control_;
  Refusal* refusal_;
};

// Reads and checks the steps. False: `refusal` states what the order lacks, or which step no clone
// can take.
[[nodiscard]] bool ReadCloneSteps(char** steps, CloneSteps* read, Refusal* refusal) {
  read->steps = steps;
  read->outer_uid = kernel::Call(SYS_geteuid);
  read->outer_gid = kernel::Call(SYS_getegid);
  bool leaves = false;
  for (; *steps != nullptr; ++steps) {
    const char* const text = *steps + 1;
    if (leaves) return RefuseStep(refusal);  // kStepLeave must be the last
    switch (**steps) {
      case kStepProc:
        read->is_proc_read_only = *text == 'r';
        read->proc = text + (read->is_proc_read_only ? 1 : 0);
        if (*read->proc != '/') return RefuseStep(refusal);
        break;
      case kStepTmpfs:
      case kStepHome:
      case kStepFile:
      case kStepTerminals:
        if (*text != '/') return RefuseStep(refusal);
        break;
      case kStepNetworkNamespace:
        if (*text != '\0') return RefuseStep(refusal);
        read->has_network = true;
        break;
      case kStepLocalBlock:
      case kStepListen:
        if (!read->has_network) return RefuseStep(refusal);
        read->listens = true;
        break;
      case kStepLeave:
        leaves = ReadLeave(text, read);
        if (!leaves) return RefuseStep(refusal);
        break;
      default:
        return RefuseStep(refusal);
    }
  }
  if (leaves && read->proc != nullptr) return true;
  return refusal->Because("a template's order lacks the step that every clone needs", -EINVAL);
}

// Runs in the first process of a clone, which has a user and a pid namespace of its own: makes the
// other namespaces, and takes the steps. `proc`: see MapUser(). False: `refusal` states the reason.
[[nodiscard]] bool TakeCloneSteps(const CloneSteps& steps, const CloneRequest& request,
                                  bool has_used, int proc, const HostChannel& control,
                                  Refusal* refusal) {
  const Taker taker(steps, request, has_used, proc, control, refusal);
  if (!taker.MakeNamespaces()) return false;
  int before = -1;  // the working directory, where commands start that name none
  for (char** step = steps.steps; *step != nullptr; ++step) {
    if (**step != kStepHome) continue;
    before = kernel::Open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (before < 0) return refusal->Because("the working directory can't be opened", before);
    if (!taker.EnterHome(*step)) return false;
  }
  for (char** step = steps.steps; *step != nullptr; ++step) {
    if (!taker.Take(*step)) return false;
    if (**step != kStepHome) continue;
    const long result = kernel::ChangeDirectory(before);
    kernel::Close(before);
    if (result != 0) return refusal->Because("the working directory can't be entered", result);
  }
  return true;
}

// Makes the topmost mount there read-only, not its file system.
long MakeReadOnly(const char* proc) {
  return kernel::Mount(nullptr, proc, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kProcFlags);
}

// Opens a writable proc(5), for the ids and limits of user namespaces; -errno on failure. The
// kernel lets a clone mount its own only if a proc with nothing covered is visible
// (mount_too_revealing() in fs/namespace.c). bwrap covers parts of it for root, whose commands must
// not write to any: in that case bwrap's and the launcher's are made read-only, and the writable
// one has no path.
int PrepareProc(const CloneSteps& steps) {
  if (!steps.is_proc_read_only) return kernel::Open(steps.proc, O_PATH | O_DIRECTORY);
  if (const long result = MakeReadOnly(steps.proc); result != 0) return static_cast<int>(result);
  if (const long result = kernel::Mount("proc", steps.proc, "proc", kProcFlags); result != 0)
    return static_cast<int>(result);
  const int proc = kernel::CloneMount(steps.proc);
  if (proc < 0) return proc;
  const long result = MakeReadOnly(steps.proc);
  return result == 0 ? proc : static_cast<int>(result);
}

// Received descriptors have higher numbers, as all lower ones are taken.
long TakeTheirPlaces(const AskedClone& asked) {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    const long result = kernel::Duplicate(asked.at[1 + number], number);
    if (result < 0) return result;
  }
  return kernel::Duplicate(asked.at[0], kControlDescriptor);
}

int BeClone(const CloneSteps& steps, const AskedClone& asked, bool has_used, int proc,
            int (*run)(HostChannel&)) {
  if (const long result = TakeTheirPlaces(asked); result < 0) {
    RefuseClone(asked.at[0], "cannot place a descriptor", result);
    return 0;
  }
  kernel::SetDefaultAction(SIGCHLD);
  HostChannel control(true);
  if (has_used) HostChannel::TellOfUsedNetwork();
  Refusal refusal;
  refusal.no_clone = true;
  if (!TakeCloneSteps(steps, asked.request, has_used, proc, control, &refusal)) {
    control.SendRefused(refusal);
    return 0;
  }
  CloseInheritedDescriptors();
  return run(control);
}

// Waits for the next request, and uses the time for what later ones need. False: the template can
// serve no more.
bool WaitForClone(UsedNetworks* networks) {
  const auto wait = [](const timespec* most) {
    pollfd host = {kControlDescriptor, POLLIN, 0};
    return kernel::Poll(&host, 1, most);
  };
  constexpr timespec kAtOnce{};
  if (!networks->is_used() || wait(&kAtOnce) != 0) return true;
  if (!networks->Prepare()) return false;
  for (long most = 0; most >= 0; most = networks->LookAfter()) {
    constexpr long kSecond = 1'000'000'000;
    const timespec time = {most / kSecond, most % kSecond};
    if (wait(&time) != 0) break;
  }
  return true;
}

}  // namespace

void ServeTemplate(HostChannel& control, const MappedOrder& order, int (*run)(HostChannel&)) {
  Refusal refusal;
  CloneSteps steps;
  if (!ReadCloneSteps(order.rules, &steps, &refusal)) return control.SendRefused(refusal);
  if (kernel::ProcessId() != 1 || !IsProcOurs()) {
    refusal.Because(Layer::kPidNamespace, "a template is process 1 and sees its own /proc");
    return control.SendRefused(refusal);
  }
  const int proc = PrepareProc(steps);
  if (proc < 0) {
    refusal.Because("a template's /proc", proc);
    return control.SendRefused(refusal);
  }
  kernel::LeaveNoZombies();
  static UsedNetworks networks;
  if (steps.has_network && !steps.listens) networks.Begin(proc);
  if (!control.SendReady({})) return;
  for (AskedClone asked; WaitForClone(&networks) && ReceiveClone(&asked) == NextClone::kAsked;
       asked.Close()) {
    const bool has_used = networks.Enter();
    int pidfd = -1;
    // The expensive part runs in the new process, beside its siblings.
    const long pid =
        kernel::Fork(CLONE_NEWUSER | CLONE_NEWPID, asked.cgroup, has_used ? &pidfd : nullptr);
    if (pid == 0) kernel::Exit(BeClone(steps, asked, has_used, proc, run));
    if (pid < 0) RefuseClone(asked.at[0], "cannot clone a sandbox", pid);
    if (has_used && !networks.Leave(pidfd)) return;
  }
}

namespace {

// A timer that is set to the next tick but one may come two later.
constexpr std::uint64_t kRestTicks = 5;

// Words of /proc/net/sockstat, after which a number of all namespaces together comes. No other file
// has any of them.
bool IsOfAll(const char* word, std::size_t size) {
  for (const char* each : {"orphan", "alloc", "mem", "memory"})
    if (size == std::strlen(each) && std::memcmp(word, each, size) == 0) return true;
  return false;
}

// Removes those numbers; returns the size that is left.
std::size_t WithoutOthers(char* text, std::size_t size) {
  std::size_t kept = 0;
  bool drops = false;
  for (std::size_t at = 0; at < size;) {
    std::size_t end = at;
    while (end < size && text[end] != ' ' && text[end] != '\n')
      ++end;
    const bool is_word = end > at;
    if (!is_word) ++end;
    const bool is_next = is_word && IsOfAll(text + at, end - at);
    if (!is_word || !drops) {
      std::memmove(text + kept, text + at, end - at);
      kept += end - at;
    }
    if (is_word) drops = is_next;
    at = end;
  }
  return kept;
}

}  // namespace

void UsedNetworks::Begin(int proc) {
  timespec tick{};
  if (kernel::Call(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick) != 0) return;
  rest_ns_ = kRestTicks * static_cast<std::uint64_t>(tick.tv_nsec);
  proc_ = proc;
  // The host's, which only its root may enter again, is left for good.
  if (kernel::Unshare(CLONE_NEWNET) != 0) return;
  const int own = kernel::OpenIn(proc, "self/ns/net", O_RDONLY);
  own_ = own > 0 ? own : 0;
}

bool UsedNetworks::Enter() {
  if (own_ == 0) return false;
  const std::uint64_t now = kernel::Now();
  is_wanted_ = asked_ns_ != 0 && now - asked_ns_ < kMostIdleNs;
  asked_ns_ = now;
  for (Network& network : networks_) {
    if (network.at == 0 || !IsLeft(&network, now) || now - network.left_ns < rest_ns_) continue;
    if (!IsUsable(&network)) {
      Close(&network);
      continue;
    }
    if (kernel::EnterNamespace(network.at) != 0) continue;
    entered_ = &network;
    is_wanted_ = false;
    return true;
  }
  return false;
}

bool UsedNetworks::Leave(int pidfd) {
  Network& network = *entered_;
  entered_ = nullptr;
  network.uses += 1;
  network.user = pidfd;
  network.is_as_new = false;
  if (pidfd <= 0) Close(&network);  // no clone was made, or nobody could tell when it is gone
  return kernel::EnterNamespace(own_) == 0;
}

bool UsedNetworks::Prepare() {
  if (!is_wanted_) return true;
  is_wanted_ = false;
  for (Network& network : networks_) {
    if (network.at != 0) continue;
    if (kernel::Unshare(CLONE_NEWNET) != 0) return true;
    if (!Make(&network)) Close(&network);
    return kernel::EnterNamespace(own_) == 0;
  }
  return true;
}

long UsedNetworks::LookAfter() {
  const std::uint64_t now = kernel::Now();
  std::uint64_t next = kMostIdleNs;
  bool has_some = false;
  bool has_read = false;
  for (Network& network : networks_) {
    if (network.at == 0 || !IsLeft(&network, now)) continue;
    const std::uint64_t idle = now - network.left_ns;
    const bool is_rested = idle >= rest_ns_;
    const bool reads = is_rested && !network.is_as_new && !has_read;
    has_read |= reads;
    if (idle >= kMostIdleNs || (reads && !IsUsable(&network))) {
      Close(&network);
      continue;
    }
    std::uint64_t left = kMostIdleNs - idle;
    if (!network.is_as_new) left = is_rested ? 0 : rest_ns_ - idle;
    if (left < next) next = left;
    has_some = true;
  }
  return has_some ? static_cast<long>(next) : -1;
}

void UsedNetworks::Close(Network* network) {
  for (const int file : network->files)
    if (file > 0) kernel::Close(file);
  if (network->user > 0) kernel::Close(network->user);
  if (network->at > 0) kernel::Close(network->at);
  *network = Network();
}

// True if no process is in it any more.
bool UsedNetworks::IsLeft(Network* network, std::uint64_t now) {
  if (network->user == 0) return true;
  pollfd user = {network->user, POLLIN, 0};
  const timespec at_once{};
  if (kernel::Poll(&user, 1, &at_once) != 1 || (user.revents & POLLIN) == 0) return false;
  kernel::Close(network->user);
  network->user = 0;
  network->left_ns = now;
  return true;
}

bool UsedNetworks::IsUsable(Network* network) {
  if (network->uses >= kMostUses) return false;
  if (!network->is_as_new) network->is_as_new = IsAsNew(*network);
  return network->is_as_new;
}

// Opens the files of the namespace that the template is in, which has just been made.
bool UsedNetworks::Make(Network* network) {
  Refusal unused;
  if (!BringUpLoopback(&unused)) return false;
  network->at = kernel::OpenIn(proc_, "self/ns/net", O_RDONLY);
  if (network->at <= 0) return false;
  for (std::size_t at = 0; at < kFileCount; ++at) {
    const int file = kernel::OpenIn(proc_, kFiles[at], O_RDONLY);
    if (file <= 0 && file != -ENOENT) return false;  // a kernel without IPv6 has some of them not
    network->files[at] = file > 0 ? file : 0;
  }
  network->left_ns = kernel::Now();
  if (new_.size != 0) return IsAsNew(*network);
  Read(*network, &new_);
  return new_.size != 0;
}

bool UsedNetworks::IsAsNew(const Network& network) {
  Read(network, &now_);
  return now_.size != 0 && now_.size == new_.size &&
         std::memcmp(now_.bytes, new_.bytes, new_.size) == 0;
}

void UsedNetworks::Read(const Network& network, Text* text) {
  std::size_t size = 0;
  text->size = 0;
  for (std::size_t at = 0; at < kFileCount; ++at) {
    if (network.files[at] == 0) continue;
    const std::size_t room = kMostText - size;
    const long got = kernel::Call(SYS_pread64, network.files[at], text->bytes + size, room, 0);
    if (got < 0 || static_cast<std::size_t>(got) >= room) return;
    size += WithoutOthers(text->bytes + size, static_cast<std::size_t>(got));
  }
  text->size = size;
}

}  // namespace native_runner

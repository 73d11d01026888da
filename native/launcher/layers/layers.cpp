#include "launcher/layers/layers.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <string_view>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"
#include "protocol/identity.h"

namespace native_runner {
namespace {

struct Sets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
};

}  // namespace

void DropCapabilities() {
  // Needs CAP_SETPCAP; without it, a command with no_new_privs can't regain any capability.
  unsigned long capability = 0;
  while (kernel::Prctl(PR_CAPBSET_DROP, capability) == 0)
    ++capability;
  kernel::Prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
  Sets none;
  kernel::Call(SYS_capset, &none.header, none.data);
}

bool CheckNoCapabilities(Refusal* refusal) {
  Sets sets;
  const long result = kernel::Call(SYS_capget, &sets.header, sets.data);
  if (result != 0) return refusal->Because(Layer::kNoCapabilities, result);
  for (const auto& set : sets.data) {
    if ((set.effective | set.permitted | set.inheritable) != 0) {
      return refusal->Because(Layer::kNoCapabilities, "some are left");
    }
  }
  return true;
}

namespace {

// Reads the launcher's own mount table: no mount may receive mounts made elsewhere, or pass on
// those made on it (MS_SHARED and MS_SLAVE in mount(2)). Refuses with `shared_mounts` if one does,
// or if /proc can't be read.
bool CheckMountsAreOwn(Refusal* refusal) {
  const int table = kernel::Open("/proc/self/mountinfo", O_RDONLY);
  char text[4096] = {};
  SharedMounts shared;
  long got = table < 0 ? table : kernel::Read(table, text, sizeof text);
  for (; got > 0; got = kernel::Read(table, text, sizeof text))
    shared.Take(text, static_cast<std::size_t>(got));
  if (table >= 0) kernel::Close(table);
  refusal->shared_mounts = got != 0 || shared.found();
  return !refusal->shared_mounts ||
         refusal->Because(Layer::kMountNamespace, "a mount is shared with the host");
}

constexpr char kHostsOwn[] = "the command would run in the host's own";

// Returns 0 if the link can't be read.
std::uint64_t NumberOf(const char* link) {
  char text[64] = {};
  if (kernel::ReadLink(link, text, sizeof text - 1) <= 0) return 0;
  return NamespaceNumber(text);
}

// Returns the cookie of the current network namespace, for sandboxes whose /proc does not show it.
// 0 if the kernel does not provide it.
std::uint64_t NetworkCookie() {
  const int socket = kernel::OpenSocket(AF_UNIX, SOCK_STREAM);
  if (socket < 0) return 0;
  std::uint64_t cookie = 0;
  unsigned size = sizeof cookie;
  const long result =
      kernel::Call(SYS_getsockopt, socket, SOL_SOCKET, kNetworkCookieOption, &cookie, &size);
  kernel::Close(socket);
  return result == 0 && size == sizeof cookie ? cookie : 0;
}

// Checks the network namespace where /proc does not show it.
bool CheckNetwork(const OrderHeader& order, Refusal* refusal) {
  const std::uint64_t ours = order.network_cookie == 0 ? 0 : NetworkCookie();
  if (ours != 0 && ours != order.network_cookie) return true;
  return refusal->Because(
      Layer::kNetworkNamespace,
      ours == 0 ? "without /proc only Linux 5.14 or newer can tell whose it is" : kHostsOwn);
}

// Compares the launcher's namespaces with the host's, whose numbers are in the order: a program
// that should have made new ones may have failed silently (Firejail inside another sandbox does).
// Refuses with the name of the first that is still shared.
bool CheckNamespaces(const OrderHeader& order, Refusal* refusal) {
  const struct {
    std::uint32_t flag;
    const char* link;
    std::uint64_t hosts;
    Layer layer;
  } rows[] = {
      {kOrderOwnMountNamespace, "/proc/self/ns/mnt", order.mount_namespace, Layer::kMountNamespace},
      {kOrderOwnPidNamespace, "/proc/self/ns/pid", order.pid_namespace, Layer::kPidNamespace},
      {kOrderOwnNetworkNamespace, "/proc/self/ns/net", order.network_namespace,
       Layer::kNetworkNamespace},
  };
  for (const auto& row : rows) {
    if ((order.flags & row.flag) == 0) continue;
    const std::uint64_t ours = NumberOf(row.link);
    if (ours != 0 && ours != row.hosts) continue;
    if (ours != 0 || row.layer != Layer::kNetworkNamespace)
      return refusal->Because(row.layer, kHostsOwn);
    if (!CheckNetwork(order, refusal)) return false;
  }
  return true;
}

bool Fail(const char* layer, const char* path, const char* why, Refusal* refusal) {
  refusal->text.Add(layer).Add(path);
  return refusal->Because(why);
}

bool CheckIdentity(const char* rule, Refusal* refusal) {
  FileIdentity hosts;
  const char* const path = ParseIdentity(rule + 1, &hosts);
  if (path == nullptr) return refusal->Because("the order has a rule without a file");
  const bool hidden = *rule == kRuleHidden;
  struct stat status {};
  const long result = kernel::Stat(path, &status);
  if (result != 0) {
    if (hidden && (result == -ENOENT || result == -EACCES || result == -ENOTDIR)) return true;
    refusal->text.Add(hidden ? "hidden-files: " : "the workspace is not there: ");
    return refusal->Because(path, result);
  }
  const bool same = hosts == FileIdentity{status.st_dev, status.st_ino};
  if (same != hidden) return true;
  return hidden ? Fail("hidden-files: ", path, " is the host's own", refusal)
                : Fail("the workspace is not there: ", path, " is another directory", refusal);
}

bool IsReadOnly(const struct statfs& status) {
  return (static_cast<unsigned long>(status.f_flags) & ST_RDONLY) != 0;
}

bool CheckReadOnly(const char* path, Refusal* refusal) {
  struct statfs status {};
  const long result = kernel::StatFs(path, &status);
  if (result != 0) {
    return refusal->Because(Layer::kReadOnlyRoot, path, result);
  }
  if (IsReadOnly(status)) return true;
  return Fail("read-only-root: ", path, " is not mounted read-only", refusal);
}

bool CheckNode(const char* rule, Refusal* refusal) {
  constexpr char kDevices[] = "devices: ";
  FileIdentity hosts;
  const char* const path = ParseIdentity(rule + 1, &hosts);
  if (path == nullptr) return refusal->Because("the order has a rule without a file");
  struct stat status {};
  struct statfs mount {};
  long result = kernel::Stat(path, &status);
  if (result == 0) result = kernel::StatFs(path, &mount);
  if (result != 0) {
    refusal->text.Add(kDevices);
    return refusal->Because(path, result);
  }
  if (hosts != FileIdentity{status.st_dev, status.st_ino} || (status.st_mode & S_IFMT) != S_IFCHR) {
    return Fail(kDevices, path, " is not the host's node", refusal);
  }
  if (*rule != kRuleKeptNode || IsReadOnly(mount)) return true;
  return Fail(kDevices, path, " is not mounted read-only, so commands could change its mode",
              refusal);
}

// True for a rule of another part of the order.
bool IsOthersRule(char kind, std::uint32_t flags) {
  switch (kind) {
    case kRuleRead:
    case kRuleReadEntry:
    case kRuleWrite:
    case kRuleList:
    case kRuleDevice:
      return (flags & kOrderLandlock) != 0;
    case kRuleOverlay:
      return (flags & kOrderRenames) != 0;
    default:
      return false;
  }
}

}  // namespace

bool CheckFiles(const MappedOrder& order, Refusal* refusal) {
  if ((order.header.flags & kOrderCheckFiles) == 0) return true;
  for (char** rule = order.rules; *rule != nullptr; ++rule) {
    const char kind = **rule;
    if (kind == kRuleHidden || kind == kRuleShown) {
      if (!CheckIdentity(*rule, refusal)) return false;
    } else if (kind == kRuleReadOnly) {
      if (!CheckReadOnly(*rule + 1, refusal)) return false;
    } else if (kind == kRuleNode || kind == kRuleKeptNode) {
      if (!CheckNode(*rule, refusal)) return false;
    } else if (!IsOthersRule(kind, order.header.flags)) {
      return refusal->Because("the order has a rule that can't be checked");
    }
  }
  return true;
}

namespace {

long Apply(int resource, std::uint64_t soft, std::uint64_t hard) {
  rlimit limit{};
  kernel::SetLimit(resource, nullptr, &limit);
  limit.rlim_max = std::min<std::uint64_t>(hard, limit.rlim_max);  // raising it may need privileges
  limit.rlim_cur = std::min<std::uint64_t>(soft, limit.rlim_max);
  return kernel::SetLimit(resource, &limit, nullptr);
}

// Lowers both limits to this one, and raises none.
long Lower(int resource, std::uint64_t most) {
  rlimit limit{};
  kernel::SetLimit(resource, nullptr, &limit);
  return Apply(resource, std::min<std::uint64_t>(limit.rlim_cur, most), most);
}

}  // namespace

const char* ApplyLimits(const OrderHeader& order, long* result) {
  struct Row {
    const char* name;
    int resource;
    std::uint64_t value;
    std::uint64_t grace;
  };
  const Row rows[] = {
      {"RLIMIT_DATA", RLIMIT_DATA, order.data_bytes, 0},
      {"RLIMIT_CPU", RLIMIT_CPU, order.cpu_seconds, 1},
      {"RLIMIT_NPROC", RLIMIT_NPROC, order.processes, 0},
      {"RLIMIT_NOFILE", RLIMIT_NOFILE, order.open_files, 0},
      {"RLIMIT_FSIZE", RLIMIT_FSIZE, order.file_bytes, 0},
  };
  for (const Row& row : rows) {
    if (row.value == kNoLimit) continue;
    const std::uint64_t hard = row.value + std::min(row.grace, kNoLimit - row.value);
    *result = Apply(row.resource, row.value, hard);
    if (*result != 0) return row.name;
  }
  if (order.open_files != kNoLimit || order.most_open_files == kNoLimit) return nullptr;
  *result = Lower(RLIMIT_NOFILE, order.most_open_files);
  return *result == 0 ? nullptr : "RLIMIT_NOFILE";
}

namespace {

bool CheckInit(Refusal* refusal) {
  if (kernel::ProcessId() == 1) return true;
  return refusal->Because(Layer::kPidNamespace, "the launcher is not process 1 of its own");
}

// From here on orphans of the command become the launcher's children. The host's end shows as end
// of file on the control socket: a parent-death signal would kill the launcher before it has killed
// the tree.
bool BecomeSubreaper(Refusal* refusal) {
  kernel::Prctl(PR_SET_PDEATHSIG, 0);
  const long result = kernel::Prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (result != 0) return refusal->Because(Layer::kTreeKillSubreaper, result);
  if (IsProcOurs()) return true;
  return refusal->Because(Layer::kTreeKillSubreaper, "/proc does not show our processes");
}

bool SetNoNewPrivs(Refusal* refusal) {
  const long result = kernel::Prctl(PR_SET_NO_NEW_PRIVS, 1);
  if (result != 0) return refusal->Because(Layer::kNoNewPrivs, result);
  return kernel::Prctl(PR_GET_NO_NEW_PRIVS) == 1 ||
         refusal->Because(Layer::kNoNewPrivs, "not in force");
}

}  // namespace

bool EnterLayers(const OrderHeader& order, Refusal* refusal) {
  const std::uint32_t flags = order.flags;
  const bool is_init = (flags & kOrderIsInit) != 0;
  if (!(is_init ? CheckInit(refusal) : BecomeSubreaper(refusal))) return false;
  if (!CheckNamespaces(order, refusal)) return false;
  if ((flags & kOrderOwnMounts) != 0 && !CheckMountsAreOwn(refusal)) return false;
  if ((flags & kOrderDropCapabilities) != 0) DropCapabilities();
  if ((flags & kOrderNoCapabilities) != 0 && !CheckNoCapabilities(refusal)) return false;
  return (flags & kOrderNoNewPrivs) == 0 || SetNoNewPrivs(refusal);
}

namespace {

// The kernel's interface, with the parts that older headers lack.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kRulePathBeneath = 1;

struct RulesetAttributes {
  std::uint64_t handled_files = 0;
  std::uint64_t handled_network = 0;  // ABI 4
  std::uint64_t scoped = 0;           // ABI 6
};

struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};

constexpr std::uint64_t Bit(unsigned n) {
  return std::uint64_t{1} << n;
}
constexpr std::uint64_t kExecute = Bit(0);
constexpr std::uint64_t kWriteFile = Bit(1);
constexpr std::uint64_t kReadFile = Bit(2);
constexpr std::uint64_t kReadDirectory = Bit(3);
constexpr std::uint64_t kRemove = Bit(4) | Bit(5);
constexpr std::uint64_t kMakeDevice = Bit(6) | Bit(11);  // character, block: never allowed
constexpr std::uint64_t kMake = Bit(7) | Bit(8) | Bit(9) | Bit(10) | Bit(12);
constexpr std::uint64_t kRefer = Bit(13);          // ABI 2: links and renames between directories
constexpr std::uint64_t kTruncate = Bit(14);       // ABI 3
constexpr std::uint64_t kDeviceControl = Bit(15);  // ABI 5: ioctl(2) on devices

constexpr std::uint64_t kRead = kExecute | kReadFile | kReadDirectory;
constexpr std::uint64_t kWrite = kWriteFile | kRemove | kMake | kRefer | kTruncate;
constexpr std::uint64_t kDevice = kReadFile | kWriteFile | kDeviceControl;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

constexpr std::uint64_t kTcp = Bit(0) | Bit(1);  // bind, connect
constexpr std::uint64_t kScopeAbstractSockets = Bit(0);
constexpr std::uint64_t kScopeSignals = Bit(1);
constexpr long kSignalsAbi = 6;

std::uint64_t HandledFiles(long abi) {
  std::uint64_t handled = kRead | kWriteFile | kRemove | kMakeDevice | kMake;
  if (abi >= 2) handled |= kRefer;
  if (abi >= 3) handled |= kTruncate;
  if (abi >= 5) handled |= kDeviceControl;
  return handled;
}

// The attributes grew with the ABI; an older kernel expects their older size.
std::size_t SizeOfAttributes(long abi) {
  if (abi >= kSignalsAbi) return sizeof(RulesetAttributes);
  return (abi >= 4 ? 2 : 1) * sizeof(std::uint64_t);
}

std::uint64_t Allowed(char kind) {
  switch (kind) {
    case kRuleRead:
    case kRuleReadEntry:
      return kRead;
    case kRuleWrite:
      return kWrite;
    case kRuleList:
      return kReadDirectory;
    case kRuleDevice:
      return kDevice;
    default:
      return 0;
  }
}

}  // namespace

bool Landlock::Prepare(const MappedOrder& order, Refusal* refusal) {
  const long abi = kernel::Call(kCreateRuleset, nullptr, 0, kAskVersion);
  if (abi < 1) return refusal->Because(Layer::kLandlockFiles, abi);
  const std::uint32_t flags = order.header.flags;
  RulesetAttributes attributes;
  attributes.handled_files = handled_ = HandledFiles(abi);
  enforced_ = {Layer::kLandlockFiles};
  if (abi >= 4 && (flags & kOrderNoSockets) != 0) {
    attributes.handled_network = kTcp;
    enforced_.Add(Layer::kLandlockTcp);
  }
  if (abi >= kSignalsAbi && (flags & kOrderScoped) != 0) {
    // Signals are always scoped; abstract sockets only without the network.
    attributes.scoped = kScopeSignals;
    if ((flags & kOrderNoSockets) != 0) attributes.scoped |= kScopeAbstractSockets;
    enforced_.Add(Layer::kLandlockScope);
    if ((flags & kOrderSession) != 0) enforced_.Add(Layer::kCommandSeparation);
  }
  const long made = kernel::Call(kCreateRuleset, &attributes, SizeOfAttributes(abi), 0);
  if (made < 0) return refusal->Because(Layer::kLandlockFiles, made);
  ruleset_ = static_cast<int>(made);
  kernel::SetCloseOnExec(ruleset_);
  return AddRules(order, refusal);
}

namespace {

// The kernel says what is no directory: a stat(2) would ask the file system, which may not answer.
// A rule that allows nothing here (listing a file) is not added.
long AddRule(int ruleset, PathBeneath* beneath) {
  const auto add = [&] {
    return beneath->allowed == 0 ? 0
                                 : kernel::Call(kAddRule, ruleset, kRulePathBeneath, beneath, 0);
  };
  const long result = add();
  if (result != -EINVAL || (beneath->allowed & ~kOfFiles) == 0) return result;
  beneath->allowed &= kOfFiles;
  return add();
}

// The files that a process has in /proc are its user's: commands of a session could write to one
// another's.
bool IsProc(const char* path) {
  return std::string_view(path) == "/proc";
}

// Allows writes and renames below all entries of the root directory but /proc, and there too if a
// driver has to name its threads. In a session nothing
// can be made beside them: the root directory is read-only.
bool AllowWritesOutsideProc(int ruleset, bool names_threads, Refusal* refusal) {
  ProcDirectory root("/");
  if (!root.ok()) return refusal->Because(Layer::kCommandSeparation, root.descriptor());
  const char* name = nullptr;
  while (root.NextName(&name)) {
    FixedText<NAME_MAX + 2> path;
    path.Add("/").Add(name);
    const std::string_view entry = name;
    if (entry == "." || entry == "..") continue;
    if (IsProc(path.c_str()) && !names_threads) continue;
    PathBeneath beneath;
    beneath.allowed = kWriteFile | kRefer;
    beneath.parent = kernel::Open(path.c_str(), O_PATH);
    if (beneath.parent < 0) continue;  // a link that leads nowhere
    const long result = AddRule(ruleset, &beneath);
    kernel::Close(beneath.parent);
    if (result < 0) return refusal->Because(Layer::kCommandSeparation, result);
  }
  return true;
}

}  // namespace

// The set makes a domain, whose siblings can't trace it (ptrace(2)) nor, since this ABI, signal it
// (landlock(7)). A process that is no session's command sees no other's files in /proc.
bool Landlock::PrepareSeparation(const OrderHeader& order, Refusal* refusal) {
  const long abi = kernel::Call(kCreateRuleset, nullptr, 0, kAskVersion);
  if (abi < kSignalsAbi) return true;
  const bool is_session = (order.flags & kOrderSession) != 0;
  RulesetAttributes attributes;
  attributes.scoped = kScopeSignals;
  if (is_session) attributes.handled_files = kWriteFile | kRefer;
  const long made = kernel::Call(kCreateRuleset, &attributes, sizeof attributes, 0);
  if (made < 0) return refusal->Because(Layer::kCommandSeparation, made);
  ruleset_ = static_cast<int>(made);
  kernel::SetCloseOnExec(ruleset_);
  enforced_ = {Layer::kCommandSeparation};
  return !is_session ||
         AllowWritesOutsideProc(ruleset_, (order.flags & kOrderThreadNames) != 0, refusal);
}

bool Landlock::AddRules(const MappedOrder& order, Refusal* refusal) {
  const bool is_session = (order.header.flags & kOrderSession) != 0;
  const bool names_threads = (order.header.flags & kOrderThreadNames) != 0;
  is_shared_ = is_session;
  for (char** rule = order.rules; *rule != nullptr; ++rule) {
    if (Allowed(**rule) == 0) continue;  // another layer's
    const char* const path = *rule + 1;
    const bool is_entry = **rule == kRuleReadEntry;
    PathBeneath beneath;
    beneath.parent = kernel::Open(path, O_PATH | (is_entry ? O_NOFOLLOW : 0));
    long result = beneath.parent;
    if (result >= 0) {
      beneath.allowed = Allowed(**rule) & handled_;
      has_proc_ |= IsProc(path);
      if (is_session && !names_threads && IsProc(path)) beneath.allowed &= ~kWriteFile;
      result = AddRule(ruleset_, &beneath);
      kernel::Close(beneath.parent);
    }
    if (result >= 0 || is_entry) continue;  // an entry without a rule stays unreadable
    return refusal->Because(Layer::kLandlockFiles, path, result);
  }
  return true;
}

namespace {

// Programs read these about themselves. `net` is left out, since it lists the host's connections,
// and `task`, which has it too.
constexpr std::array kOwnFiles = {
    "/proc/self/auxv",         "/proc/self/cgroup", "/proc/self/cmdline",   "/proc/self/comm",
    "/proc/self/environ",      "/proc/self/fd",     "/proc/self/io",        "/proc/self/limits",
    "/proc/self/maps",         "/proc/self/mounts", "/proc/self/oom_score", "/proc/self/mountinfo",
    "/proc/self/smaps",        "/proc/self/stat",   "/proc/self/statm",     "/proc/self/status",
    "/proc/self/smaps_rollup",
};

}  // namespace

// The directory's rule for `fd` lets its names be listed: what they lead to has rules of its own.
void Landlock::AllowOwnProcess() const {
  if (ruleset_ < 0 || has_proc_ || is_shared_ || (handled_ & kReadFile) == 0) return;
  for (const char* path : kOwnFiles) {
    PathBeneath beneath;
    beneath.allowed = kReadFile | kReadDirectory;
    beneath.parent = kernel::Open(path, O_PATH);
    if (beneath.parent < 0) continue;
    static_cast<void>(AddRule(ruleset_, &beneath));
    kernel::Close(beneath.parent);
  }
}

long Landlock::Enter() const {
  return ruleset_ < 0 ? 0 : kernel::Call(kRestrictSelf, ruleset_, 0);
}

}  // namespace native_runner

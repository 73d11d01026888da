#include "launcher/layers/landlock.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"

namespace native_runner {
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

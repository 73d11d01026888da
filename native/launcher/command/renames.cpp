#include "launcher/command/renames.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"
#include "launcher/seccomp/seccomp.h"
#include "protocol/layer.h"
#include "protocol/report.h"

namespace native_runner {
namespace {

bool IsName(const char* name) {
  const std::size_t size = std::strlen(name);
  const bool is_dots = name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'));
  return size > 0 && size <= NAME_MAX && !is_dots;
}

// Removes trailing slashes from `path` and returns its last name; the caller then cuts `path`
// there.
const char* TakeName(char* path) {
  std::size_t size = std::strlen(path);
  while (size > 1 && path[size - 1] == '/')
    path[--size] = '\0';
  while (size > 0 && path[size - 1] != '/')
    --size;
  return path + size;
}

}  // namespace

RenameCall::RenameCall(const seccomp_notif& call) : caller_(static_cast<pid_t>(call.pid)) {
  const auto* const given = call.data.args;
#ifdef SYS_rename
  if (call.data.nr == SYS_rename) {
    old_ = {AT_FDCWD, given[0]};
    new_ = {AT_FDCWD, given[1]};
    return;
  }
#endif
  old_ = {static_cast<int>(given[0]), given[1]};
  new_ = {static_cast<int>(given[2]), given[3]};
  if (call.data.nr == SYS_renameat2) flags_ = static_cast<unsigned>(given[4]);
}

long RenameCall::Find(const Argument& argument, FoundPlace* found, Lookup lookup) const {
  char path[PATH_MAX];  // NOLINT(cppcoreguidelines-pro-type-member-init): filled to its end
  if (!ReadText(caller_, argument.path, path, sizeof path) || path[0] == '\0') return -EINVAL;
  const char* const name = TakeName(path);
  if (!IsName(name)) return -EINVAL;
  std::memcpy(found->name, name, std::strlen(name) + 1);
  path[name - path] = '\0';
  found->directory = OpenDirectory(argument, path, lookup);
  return found->directory < 0 ? found->directory : 0;
}

// Follows no magic links of /proc: "self" there would be the launcher, not the caller.
int RenameCall::OpenDirectory(const Argument& argument, const char* path, Lookup lookup) const {
  constexpr std::uint64_t kDirectory = O_PATH | O_DIRECTORY;
  const std::uint64_t resolve =
      RESOLVE_NO_MAGICLINKS | (lookup == Lookup::kCached ? RESOLVE_CACHED : 0);
  if (path[0] == '/') return kernel::OpenAt(AT_FDCWD, path, kDirectory, resolve);
  FixedText<64> from;
  from.Add("/proc/").AddNumber(caller_);
  if (argument.directory == AT_FDCWD) {
    from.Add("/cwd");
  } else {
    from.Add("/fd/").AddNumber(argument.directory);
  }
  const int base = kernel::OpenAt(AT_FDCWD, from.c_str(), kDirectory, 0);
  if (base < 0 || path[0] == '\0') return base;
  const int directory = kernel::OpenAt(base, path, kDirectory, resolve);
  kernel::Close(base);
  return directory;
}

namespace {

constexpr std::size_t kLookUpStackBytes = 64 * 1024;
constexpr unsigned kNoReplace = 1;      // RENAME_NOREPLACE
constexpr unsigned kLeaveToKernel = 1;  // SECCOMP_USER_NOTIF_FLAG_CONTINUE

bool IsReadable(int descriptor, short* events) {
  pollfd entry{descriptor, POLLIN, 0};
  const timespec now{};
  kernel::Poll(&entry, 1, &now);
  *events = entry.revents;
  return (entry.revents & POLLIN) != 0;
}

void ClosePlaces(FoundPlace* from, FoundPlace* to) {
  for (FoundPlace* each : {from, to}) {
    if (each->directory >= 0) kernel::Close(each->directory);
    each->directory = -1;
  }
}

// Chooses an unpredictable name, so that no other process uses it.
void NameTemporary(char (&name)[32]) {
  unsigned char bytes[8] = {};
  kernel::RandomBytes(bytes, sizeof bytes);
  FixedText<sizeof name> text;
  text.Add(".renaming-");
  for (const unsigned char byte : bytes) {
    for (const unsigned digit : {byte / 16U, byte % 16U})
      text.Add(&"0123456789abcdef"[digit], 1);
  }
  std::memcpy(name, text.c_str(), text.size() + 1);
}

// False if Yama forbids reading another process's memory (a ptrace_scope of 2 or more).
bool MayReadOthers() {
  const int file = kernel::Open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY);
  if (file < 0) return true;
  char scope = '0';
  kernel::Read(file, &scope, 1);
  kernel::Close(file);
  return scope < '2';
}

const char* FindOverlay(const MappedOrder& order) {
  for (char** rule = order.rules; *rule != nullptr; ++rule)
    if (**rule == kRuleOverlay) return *rule + 1;
  return nullptr;
}

// Runs in a process of its own. The kernel returns -EXDEV for two mounts as well.
long Rename(const Place& from, const Place& to, const char* temporary, unsigned flags) {
  const long result = kernel::Rename(from.directory, from.name, to.directory, to.name, flags);
  if (result != -EXDEV || kernel::MountOf(from.directory) != kernel::MountOf(to.directory)) {
    return result;
  }
  return MoveDirectory(from, to, temporary, flags);
}

}  // namespace

bool OverlayRenames::Prepare(const MappedOrder& order, Refusal* refusal) {
  if ((order.header.flags & kOrderRenames) == 0) return true;
  const char* const path = FindOverlay(order);
  if (path == nullptr) return refusal->Because("the order has no overlay to rename in");
  struct stat status {};
  const long result = kernel::Stat(path, &status);
  if (result != 0) return refusal->Because(Layer::kRenameDirectories, path, result);
  device_ = status.st_dev;
  // Callers' paths are resolved through /proc.
  is_there_ = IsProcOurs() && MayReadOthers() && CanListenToRenames();
  return true;
}

// The work of a helper process.
struct Renames::Job {
  const Renames* renames;
  Move* move;
};

// Maps the flags that the moving processes set when they have finished; both sides share them.
void Renames::Listen(int listener) {
  listener_ = listener;
  static unsigned char untold[kMostMoves];
  const long page = kernel::Map(kMostMoves, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a call's result
  unsigned char* over = page < 0 ? untold : reinterpret_cast<unsigned char*>(page);
  for (Move& move : moves_)
    move.is_over = over++;
}

int Renames::descriptor() const {
  if (listener_ < 0) return -1;
  for (const Move& move : moves_)
    if (move.state == State::kNone || move.state == State::kLeftHalfDone) return listener_;
  return -1;  // every slot is taken until a child ends
}

void Renames::Look() {
  if (listener_ < 0) return;
  LookAtProcess();
  short events = 0;
  if (descriptor() >= 0 && IsReadable(listener_, &events)) Take();
  if ((events & (POLLHUP | POLLERR)) != 0 && (events & POLLIN) == 0) StopListening();
  StartLookUp();
  StartNext();
}

void Renames::LookAtProcess() {
  for (Move& move : moves_) {
    if (move.state != State::kRuns && move.state != State::kLooksUp) continue;
    short events = 0;
    if (!IsReadable(move.process, &events)) continue;
    kernel::Close(move.process);
    if (move.state == State::kRuns) {
      EndMove(&move);
    } else {
      EndLookUp(&move);
    }
  }
}

// A move that has not set its flag was killed, or could not put everything back. The launcher can't
// see who killed it or if it answered the call, but only the first answer counts.
void Renames::EndMove(Move* move) {
  Answer(move->call, -EIO);
  if (*move->is_over == 0) {
    move->state = State::kLeftHalfDone;
  } else {
    Forget(move);
  }
}

void Renames::EndLookUp(Move* move) {
  const bool was_killed = move->kind == Kind::kUnknown;
  if (was_killed && ++killed_look_ups_ == kMostKilledLookUps) leaves_all_ = true;
  const bool waits = Waits(move->call);
  if (move->kind == Kind::kMove && waits && !leaves_all_) {
    move->state = State::kWaits;
    return;
  }
  if (waits) LeaveToKernel(move->call);
  Forget(move);
}

void Renames::Forget(Move* move) const {
  ClosePlaces(&move->from, &move->to);
  move->state = State::kNone;
}

void Renames::Take() {
  seccomp_notif call{};
  if (kernel::DeviceControl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
  if (refusals_->Answer(listener_, call)) return;
  if (call.data.nr == kConfineCall) leaves_all_ = true;
  Move found;
  found.call = call.id;
  found.asked = call;
  const Kind kind =
      leaves_all_ ? Kind::kOther : KindOf(RenameCall(call), RenameCall::Lookup::kCached, &found);
  // The pid, and the memory read from it, are the caller's only while its call waits.
  const bool waits = Waits(call.id);
  if (waits && kind == Kind::kMove && Keep(found, State::kWaits)) return;
  ClosePlaces(&found.from, &found.to);
  if (waits && kind == Kind::kUnknown && Keep(found, State::kToLookUp)) return;
  if (waits) LeaveToKernel(call.id);
}

bool Renames::Waits(std::uint64_t call) const {
  return kernel::DeviceControl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &call) == 0;
}

// Uses a free slot, or else that of a move left half done, which then stays so.
bool Renames::Keep(const Move& move, State state) {
  for (const State taken : {State::kNone, State::kLeftHalfDone}) {
    for (Move& kept : moves_) {
      if (kept.state != taken) continue;
      ClosePlaces(&kept.from, &kept.to);
      unsigned char* const is_over = kept.is_over;
      kept = move;
      kept.is_over = is_over;
      kept.state = state;
      return true;
    }
  }
  return false;
}

// Runs one look-up at a time, on its own stack, in the launcher's memory and with its descriptors.
// It may wait for long. Ending the tree kills it too, and the kernel then handles its caller's
// call.
void Renames::StartLookUp() {
  alignas(16) static char stack[kLookUpStackBytes];
  static Job job;
  Move* next = nullptr;
  for (Move& move : moves_) {
    if (move.state == State::kLooksUp) return;
    if (move.state != State::kToLookUp) continue;
    if (next == nullptr || move.call < next->call) next = &move;
  }
  if (next == nullptr) return;
  job = {this, next};
  next->state = State::kLooksUp;
  const long pid =
      kernel::Clone(CLONE_VM | CLONE_FILES | SIGCHLD, stack + sizeof stack, LookUp, &job);
  next->process = pid < 0 ? -1 : kernel::OpenPidfd(static_cast<pid_t>(pid));
  if (next->process >= 0) return;
  // Without a pidfd its end can't be awaited by polling, and it uses the stack until it has ended.
  if (pid > 0) kernel::Kill(static_cast<pid_t>(pid), SIGKILL);
  if (pid > 0) kernel::Wait(static_cast<pid_t>(pid), nullptr, 0);
  LeaveToKernel(next->call);
  Forget(next);
}

int Renames::LookUp(void* argument) {
  const Job& job = *static_cast<Job*>(argument);
  Move* const move = job.move;
  kernel::Prctl(PR_SET_PDEATHSIG, SIGKILL);
  move->kind = job.renames->KindOf(RenameCall(move->asked), RenameCall::Lookup::kWhole, move);
  return 0;
}

// Starts waiting moves in the order in which they were called.
void Renames::StartNext() {
  for (;;) {
    Move* next = nullptr;
    for (Move& move : moves_) {
      if (move.state == State::kRuns) return;
      if (move.state == State::kWaits && (next == nullptr || move.call < next->call)) next = &move;
    }
    if (next == nullptr || (Waits(next->call) && Start(next))) return;
    LeaveToKernel(next->call);
    Forget(next);
  }
}

// Stores what it finds in `move`, even for a call that is no move.
Renames::Kind Renames::KindOf(const RenameCall& call, RenameCall::Lookup lookup, Move* move) const {
  const auto is_unknown = [](long result) {
    return result == -EAGAIN ? Kind::kUnknown : Kind::kOther;
  };
  move->flags = call.flags();
  if ((move->flags & ~kNoReplace) != 0) return Kind::kOther;
  struct stat status {};
  long result = call.FindOld(&move->from, lookup);
  if (result != 0) return is_unknown(result);
  result = lookup == RenameCall::Lookup::kCached
               ? kernel::StatCachedEntry(move->from.directory, move->from.name, &status)
               : kernel::StatEntry(move->from.directory, move->from.name, &status);
  if (result != 0) return is_unknown(result);
  if (!S_ISDIR(status.st_mode) || status.st_dev != overlay_.device()) return Kind::kOther;
  result = call.FindNew(&move->to, lookup);
  if (result != 0) return is_unknown(result);
  const bool is_there = kernel::Stat(move->to.directory, &status) == 0;
  return is_there && status.st_dev == overlay_.device() ? Kind::kMove : Kind::kOther;
}

bool Renames::Start(Move* move) {
  alignas(16) static char stack[kMoveStackBytes];  // each child has its own copy
  NameTemporary(move->temporary);
  Job job{this, move};
  *move->is_over = 0;
  const long pid = kernel::Clone(SIGCHLD, stack + sizeof stack, Work, &job);
  if (pid < 0) return false;
  move->process = kernel::OpenPidfd(static_cast<pid_t>(pid));
  if (move->process >= 0) move->state = State::kRuns;
  if (move->process < 0) kernel::Kill(static_cast<pid_t>(pid), SIGKILL);
  return move->process >= 0;
}

int Renames::Work(void* argument) {
  const Job& job = *static_cast<Job*>(argument);
  const Renames& renames = *job.renames;
  const Move& move = *job.move;
  kernel::Prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Closes the command's streams: their readers wait for the command's end, not for this process's.
  for (int number = 0; number <= kControlDescriptor; ++number)
    kernel::Close(number);
  if (renames.landlock_.Enter() != 0) {
    renames.LeaveToKernel(move.call);
    *move.is_over = 1;
    return 0;
  }
  const long result = Rename(move.from.place(), move.to.place(), move.temporary, move.flags);
  if (result != -EIO) *move.is_over = 1;
  renames.Answer(move.call, result);
  return 0;
}

void Renames::Answer(std::uint64_t call, long result) const {
  seccomp_notif_resp answer{};
  answer.id = call;
  answer.error = static_cast<int>(result);
  kernel::DeviceControl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void Renames::LeaveToKernel(std::uint64_t call) const {
  seccomp_notif_resp answer{};
  answer.id = call;
  answer.flags = kLeaveToKernel;
  kernel::DeviceControl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void Renames::StopListening() {
  kernel::Close(listener_);
  listener_ = -1;
}

void Renames::PutBack() {
  LookAtProcess();
  for (Move& move : moves_) {
    if (move.state != State::kLeftHalfDone) continue;
    UndoMove(move.from.place(), {move.to.directory, move.temporary});
    Forget(&move);
  }
}

}  // namespace native_runner

#include "supervise/os/guarded_spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "protocol/order.h"
#include "supervise/os/vfork.h"

namespace native_runner {
namespace {

// What the new process does, and how it failed.
struct Birth {
  const char* path;
  char* const* argv;
  const std::vector<Inherited>* inherited;
  const char* failed_call = nullptr;
  int error = 0;
};

int FailBirth(Birth* birth, const char* call) {
  birth->failed_call = call;
  birth->error = errno;
  return 127;  // as a shell whose program can't be executed
}

// All of the kernel's signals, as Attributes does for posix_spawn; those that can't be changed are
// refused. The C library's structure is another than the kernel's.
void ResetDispositions() {
  constexpr int kSignals = 64;
  constexpr std::size_t kSetBytes = 8;
  constexpr std::array<std::uint64_t, 4> kDefault{};  // handler, flags, restorer, mask
  for (int signal = 1; signal <= kSignals; ++signal)
    syscall(SYS_rt_sigaction, signal, kDefault.data(), nullptr, kSetBytes);
}

// Mounts the file on itself, read-only and otherwise with the flags of its mount. statfs(2) uses
// the flag names of statvfs(3), whose values are those of mount(2).
bool MountFileReadOnly(const char* file) {
  constexpr unsigned long kKept = ST_NOSUID | ST_NODEV | ST_NOEXEC;
  struct statfs status {};
  if (syscall(SYS_statfs, file, &status) != 0) return errno == ENOENT;
  if (mount(file, file, nullptr, MS_BIND, nullptr) != 0) return false;
  const unsigned long flags = static_cast<unsigned long>(status.f_flags) & kKept;
  return mount(nullptr, file, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, nullptr) == 0;
}

// Returns the call that failed, with errno; nullptr if none did.
const char* GuardDevices() {
  if (unshare(CLONE_NEWNS) != 0) return errno == EPERM ? nullptr : "unshare(CLONE_NEWNS)";
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return "mount(MS_SLAVE)";
  for (const char* const node : kDeviceNodes) {
    if (!MountFileReadOnly(node)) return node;
  }
  return nullptr;
}

// Uses syscall(2) where a sanitizer would intercept the C library's function.
int BeBorn(void* argument) {
  auto* birth = static_cast<Birth*>(argument);
  ResetDispositions();
  if (syscall(SYS_setsid) < 0) return FailBirth(birth, "setsid");
  if (const char* const call = GuardDevices()) return FailBirth(birth, call);
  for (const Inherited& each : *birth->inherited) {
    if (syscall(SYS_dup3, each.source, each.number, 0) < 0) return FailBirth(birth, "dup3");
  }
  constexpr std::uint64_t kNoSignals = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kNoSignals, nullptr, sizeof kNoSignals);
  char* const no_environment[] = {nullptr};
  syscall(SYS_execve, birth->path, birth->argv, no_environment);
  return FailBirth(birth, birth->argv[0]);
}

}  // namespace

Result<pid_t> SpawnGuarded(const std::string& path, const std::vector<char*>& argv,
                           const std::vector<Inherited>& inherited) {
  Birth birth{.path = path.c_str(), .argv = argv.data(), .inherited = &inherited};
  const long child = RunInVfork(BeBorn, &birth, SIGCHLD);
  if (child < 0) return SystemError("clone", static_cast<int>(-child));
  if (birth.failed_call == nullptr) return static_cast<pid_t>(child);
  waitpid(static_cast<pid_t>(child), nullptr, 0);
  return SystemError((std::string("start of ") + argv[0] + ": " + birth.failed_call).c_str(),
                     birth.error);
}

}  // namespace native_runner

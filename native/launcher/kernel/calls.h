#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

// Numbers missing from kernel headers as old as glibc 2.28; the same on every architecture.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif
#ifndef SYS_fspick
#define SYS_fspick 433
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

// The launcher's system calls, made without a C library: starting one costs 0.3 ms on a virtual
// machine (it queries the processor, and each query leaves the machine). All return the kernel's
// result, or -errno. There is no errno, and no thread.

namespace native_runner {

#if defined(__x86_64__)

inline long SystemCall6(long number, long a, long b, long c, long d, long e, long f) {
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

// clone(2): the new process calls `function(argument)` on the stack that ends at `stack_end`, a
// multiple of 16, and exits with its result. Returns the pid or -errno to the caller.
inline long CloneInto(long number, unsigned long flags, void* stack_end, int (*function)(void*),
                      void* argument, long exit_number) {
  long result = number;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  register long r12 __asm__("r12") = reinterpret_cast<long>(function);
  register long r13 __asm__("r13") = reinterpret_cast<long>(argument);
  register long r14 __asm__("r14") = exit_number;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "mov %%eax, %%edi\n\t"
      "mov %%r14, %%rax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_end), "d"(0l), "r"(r10), "r"(r8), "r"(r12), "r"(r13), "r"(r14)
      : "rcx", "r11", "memory", "cc");
  return result;
}

#elif defined(__aarch64__)

inline long SystemCall6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory", "cc");
  return x0;
}

// clone(2): the new process calls `function(argument)` on the stack that ends at `stack_end`, a
// multiple of 16, and exits with its result. Returns the pid or -errno to the caller.
inline long CloneInto(long number, unsigned long flags, void* stack_end, int (*function)(void*),
                      void* argument, long exit_number) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = static_cast<long>(flags);
  register long x1 __asm__("x1") = reinterpret_cast<long>(stack_end);
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  register long x20 __asm__("x20") = reinterpret_cast<long>(function);
  register long x21 __asm__("x21") = reinterpret_cast<long>(argument);
  register long x22 __asm__("x22") = exit_number;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x21\n\t"
      "blr x20\n\t"
      "mov x8, x22\n\t"
      "svc 0\n\t"
      "brk 0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x20), "r"(x21), "r"(x22)
      : "memory", "cc", "x30");
  return x0;
}

#else
#error "the launcher calls the kernel directly: add SystemCall6 and CloneInto for this architecture"
#endif

}  // namespace native_runner

namespace native_runner::kernel {

template <typename T>
long Word(T value) {
  return static_cast<long>(value);
}
template <typename T>
long Word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}
inline long Word(std::nullptr_t) {
  return 0;
}

template <typename A = long, typename B = long, typename C = long, typename D = long,
          typename E = long, typename F = long>
long Call(long number, A a = 0, B b = 0, C c = 0, D d = 0, E e = 0, F f = 0) {
  return SystemCall6(number, Word(a), Word(b), Word(c), Word(d), Word(e), Word(f));
}

// Signal set of the kernel: bit n - 1 is signal n.
using SignalSet = std::uint64_t;
inline constexpr SignalSet kNoSignals = 0;
inline constexpr SignalSet kAllSignals = ~SignalSet{0};
constexpr SignalSet SignalBit(int signal) {
  return SignalSet{1} << (signal - 1);
}

// Files.
inline int Open(const char* path, int flags) {
  return static_cast<int>(Call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC));
}
inline int OpenIn(int directory, const char* path, int flags) {
  return static_cast<int>(Call(SYS_openat, directory, path, flags | O_CLOEXEC));
}
inline void Close(int fd) {
  Call(SYS_close, fd);
}
inline long CloseRange(unsigned first, unsigned last) {
  return Call(SYS_close_range, first, last, 0);
}
inline long Duplicate(int fd, int number) {
  return Call(SYS_dup3, fd, number, 0);
}
inline void SetCloseOnExec(int fd) {
  Call(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
}
inline long KeepOnExec(int fd) {
  return Call(SYS_fcntl, fd, F_SETFD, 0);
}
inline long Read(int fd, void* bytes, std::size_t size) {
  return Call(SYS_read, fd, bytes, size);
}
inline long Write(int fd, const void* bytes, std::size_t size) {
  return Call(SYS_write, fd, bytes, size);
}
inline long Size(int fd) {
  return Call(SYS_lseek, fd, 0, SEEK_END);
}
inline long Stat(int fd, struct stat* status) {
  return Call(SYS_fstat, fd, status);
}
inline long Stat(const char* path, struct stat* status) {
  return Call(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
inline long StatFs(const char* path, struct statfs* status) {
  return Call(SYS_statfs, path, status);
}
inline long StatFs(int fd, struct statfs* status) {
  return Call(SYS_fstatfs, fd, status);
}
inline long Map(std::size_t size, int protection, int flags, int fd) {
  return Call(SYS_mmap, nullptr, size, protection, flags, fd, 0);
}
inline long ReadDirectory(int fd, void* bytes, std::size_t size) {
  return Call(SYS_getdents64, fd, bytes, size);
}
inline long ReadLink(const char* path, char* target, std::size_t size) {
  return Call(SYS_readlinkat, AT_FDCWD, path, target, size);
}
inline long Mount(const char* source, const char* target, const char* type, unsigned long flags,
                  const char* options = nullptr) {
  return Call(SYS_mount, source, target, type, flags, options);
}
// Returns a detached copy of the mount at `path`, which no path leads to (open_tree(2)).
inline int CloneMount(const char* path) {
  constexpr unsigned kClone = 1;  // OPEN_TREE_CLONE; close-on-exec is O_CLOEXEC's bit
  return static_cast<int>(Call(SYS_open_tree, AT_FDCWD, path, kClone | O_CLOEXEC));
}
// Does the same for a symbolic link itself: the mount's root is the link.
inline int CloneLinkMount(const char* path) {
  constexpr unsigned kClone = 1;  // OPEN_TREE_CLONE
  return static_cast<int>(
      Call(SYS_open_tree, AT_FDCWD, path, kClone | O_CLOEXEC | AT_SYMLINK_NOFOLLOW));
}
// Makes a mount read-only, without devices and set-user-id programs (mount_setattr(2)).
inline long CloseMount(int mount) {
  struct {
    std::uint64_t set, clear, propagation, user_namespace;
  } attributes = {.set = 1 | 2 | 4, .clear = 0, .propagation = 0, .user_namespace = 0};
  return Call(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}
// Attaches a detached mount at `path`; a link at its end is not followed (move_mount(2)).
inline long AttachMount(int mount, const char* path) {
  constexpr int kEmptyPath = 4;  // MOVE_MOUNT_F_EMPTY_PATH
  return Call(SYS_move_mount, mount, "", AT_FDCWD, path, kEmptyPath);
}
inline long MakeDirectory(const char* path, mode_t mode) {
  return Call(SYS_mkdirat, AT_FDCWD, path, mode);
}
// Makes a regular file and returns its descriptor; -errno on failure.
inline int MakeFile(const char* path, mode_t mode) {
  return static_cast<int>(
      Call(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
}
// Opens the file system mounted at `root` for reconfiguration, unchanged (fspick(2)).
inline long PickMounted(int root) {
  constexpr int kCloseOnExec = 1;  // FSPICK_CLOEXEC
  constexpr int kEmptyPath = 8;    // FSPICK_EMPTY_PATH
  return Call(SYS_fspick, root, "", kCloseOnExec | kEmptyPath);
}
inline long Reconfigure(int picked) {
  constexpr int kReconfigure = 7;  // FSCONFIG_CMD_RECONFIGURE
  return Call(SYS_fsconfig, picked, kReconfigure, nullptr, nullptr, 0);
}
inline bool Exists(const char* path) {
  return Call(SYS_faccessat, AT_FDCWD, path, 0) == 0;
}
inline long ChangeDirectory(const char* path) {
  return Call(SYS_chdir, path);
}
inline long ChangeDirectory(int directory) {
  return Call(SYS_fchdir, directory);
}
template <typename T>
long DeviceControl(int fd, unsigned long request, T argument) {
  return Call(SYS_ioctl, fd, request, argument);
}

// Sockets and waiting.
inline long Send(int fd, const msghdr* message, int flags) {
  return Call(SYS_sendmsg, fd, message, flags);
}
inline long Receive(int fd, msghdr* message, int flags) {
  return Call(SYS_recvmsg, fd, message, flags);
}
inline long Receive(int fd, void* bytes, std::size_t size, int flags) {
  return Call(SYS_recvfrom, fd, bytes, size, flags, nullptr, nullptr);
}
inline void Shutdown(int fd, int how) {
  Call(SYS_shutdown, fd, how);
}
inline long Poll(pollfd* descriptors, std::size_t count, const timespec* timeout) {
  return Call(SYS_ppoll, descriptors, count, timeout, nullptr, 0);
}

// timerfd_create(2), timerfd_settime(2).
inline int OpenTimer(clockid_t clock, int flags) {
  return static_cast<int>(Call(SYS_timerfd_create, clock, flags));
}
inline long SetTimer(int fd, int flags, const itimerspec* time) {
  return Call(SYS_timerfd_settime, fd, flags, time, nullptr);
}

// Processes and signals.
inline pid_t ProcessId() {
  return static_cast<pid_t>(Call(SYS_getpid));
}
inline long Clone(unsigned long flags, void* stack_end, int (*function)(void*), void* argument) {
  return CloneInto(SYS_clone, flags, stack_end, function, argument, SYS_exit_group);
}
// As fork(2), with new namespaces of these `kinds`, in the cgroup whose directory is open as
// `cgroup`, unless that is -1 (clone3(2), Linux 5.3; cgroups since 5.7). Returns 0 in the new
// process. The struct is the kernel's of version 2, which older headers lack. `pidfd`, if given,
// gets one of the new process.
inline long Fork(std::uint64_t kinds, int cgroup, int* pidfd = nullptr) {
  constexpr std::uint64_t kIntoCgroup = 0x200000000;  // CLONE_INTO_CGROUP
  constexpr std::uint64_t kPidfd = 0x1000;            // CLONE_PIDFD
  struct {
    std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
  } arguments{};
  arguments.flags = kinds;
  arguments.exit_signal = SIGCHLD;
  if (pidfd != nullptr) {
    arguments.flags |= kPidfd;
    arguments.pidfd = reinterpret_cast<std::uint64_t>(pidfd);
  }
  if (cgroup >= 0) {
    arguments.flags |= kIntoCgroup;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  return Call(SYS_clone3, &arguments, sizeof arguments);
}
[[noreturn]] inline void Exit(int code) {
  for (;;)
    Call(SYS_exit_group, code);
}
inline long Execute(const char* path, char** argv, char** environment) {
  return Call(SYS_execve, path, argv, environment);
}
// Executes the program open as `fd`. A script's interpreter must be able to open it by that number.
inline long Execute(int fd, char** argv, char** environment) {
  return Call(SYS_execveat, fd, "", argv, environment, AT_EMPTY_PATH);
}
// Unshare() moves the caller to new namespaces of these kinds; EnterNamespace() to an existing one.
inline long Unshare(unsigned long kinds) {
  return Call(SYS_unshare, kinds);
}
inline long EnterNamespace(int fd) {
  return Call(SYS_setns, fd, 0);
}
inline pid_t Wait(pid_t pid, int* status, int flags) {
  return static_cast<pid_t>(Call(SYS_wait4, pid, status, flags, nullptr));
}
inline long Kill(pid_t pid, int signal) {
  return Call(SYS_kill, pid, signal);
}
inline long NewSession() {
  return Call(SYS_setsid);
}
inline int OpenPidfd(pid_t pid) {
  return static_cast<int>(Call(SYS_pidfd_open, pid, 0));
}
inline long SignalPidfd(int pidfd, int signal) {
  return Call(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}
inline void SetSignalMask(SignalSet set) {
  Call(SYS_rt_sigprocmask, SIG_SETMASK, &set, nullptr, sizeof set);
}
inline void SetDefaultAction(int signal) {
  constexpr std::uint64_t kDefault[4] = {};  // the kernel's struct sigaction: SIG_DFL, no flags
  Call(SYS_rt_sigaction, signal, kDefault, nullptr, sizeof(SignalSet));
}
// Makes ended children leave no zombies (sigaction(2), SIGCHLD).
inline void LeaveNoZombies() {
  constexpr std::uint64_t kIgnore[4] = {1};  // SIG_IGN, no flags
  Call(SYS_rt_sigaction, SIGCHLD, kIgnore, nullptr, sizeof(SignalSet));
}
inline int OpenSignals(SignalSet set, int flags) {
  return static_cast<int>(Call(SYS_signalfd4, -1, &set, sizeof set, flags));
}

// Returns the nanoseconds of a clock that the host reads as well: neither bwrap nor Firejail
// creates time namespaces (time_namespaces(7)).
inline std::uint64_t Now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  Call(SYS_clock_gettime, clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Attributes, limits and usage of processes.
inline long Prctl(int what, unsigned long value = 0, unsigned long more = 0) {
  return Call(SYS_prctl, what, value, more, 0, 0);
}
static_assert(sizeof(rlim_t) == 8, "prlimit64(2) takes 64 bits");
inline long SetLimit(int resource, const rlimit* next, rlimit* old) {
  return Call(SYS_prlimit64, 0, resource, next, old);
}
inline void GetChildrenUsage(rusage* usage) {
  Call(SYS_getrusage, RUSAGE_CHILDREN, usage);
}

// Creating sockets.

// Opens a socket, close-on-exec.
inline int OpenSocket(int family, int type, int protocol = 0) {
  return static_cast<int>(Call(SYS_socket, family, type | SOCK_CLOEXEC, protocol));
}
inline long SetSocketOption(int socket, int level, int option, int value) {
  return Call(SYS_setsockopt, socket, level, option, &value, sizeof value);
}
template <typename Address>
long Bind(int socket, const Address& address) {
  return Call(SYS_bind, socket, &address, sizeof address);
}
inline long Listen(int socket, int backlog) {
  return Call(SYS_listen, socket, backlog);
}
inline long SendPlain(int socket, const void* bytes, std::size_t size) {
  return Call(SYS_sendto, socket, bytes, size, MSG_NOSIGNAL, nullptr, 0);
}

}  // namespace native_runner::kernel

// Calls that make, move and remove files, by open directories and single names.

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

namespace native_runner::kernel {

inline int OpenAt(int directory, const char* path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  return static_cast<int>(Call(SYS_openat2, directory, path, &how, sizeof how));
}
// Opens an entry of the directory itself: follows no link and crosses no mount.
inline int OpenEntry(int directory, const char* name, std::uint64_t flags) {
  constexpr std::uint64_t kHere =
      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return OpenAt(directory, name, flags, kHere);
}
inline long StatEntry(int directory, const char* name, struct stat* status) {
  return Call(SYS_newfstatat, directory, name, status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
}
// As StatEntry(), using cached names only; -EAGAIN if the kernel would have to read the directory.
inline long StatCachedEntry(int directory, const char* name, struct stat* status) {
  const int entry = OpenAt(directory, name, O_PATH | O_NOFOLLOW, RESOLVE_CACHED);
  if (entry < 0) return entry;
  const long result = Stat(entry, status);
  Close(entry);
  return result;
}
// Returns the id of the mount through which an open file was reached; 0 if unknown (before Linux
// 5.8).
inline std::uint64_t MountOf(int fd) {
  constexpr std::uint32_t kMountId = 0x1000;  // STATX_MNT_ID; kOffset: stx_mnt_id in struct statx
  constexpr std::size_t kOffset = 0x90;
  alignas(8) char status[256] = {};
  const long result = Call(SYS_statx, fd, "", AT_EMPTY_PATH, kMountId, status);
  std::uint32_t mask = 0;
  std::uint64_t mount = 0;
  std::memcpy(&mask, status, sizeof mask);
  std::memcpy(&mount, status + kOffset, sizeof mount);
  return result == 0 && (mask & kMountId) != 0 ? mount : 0;
}

inline long Rename(int from, const char* name, int to, const char* new_name, unsigned flags) {
  return Call(SYS_renameat2, from, name, to, new_name, flags);
}
inline long MakeDirectory(int directory, const char* name, mode_t mode) {
  return Call(SYS_mkdirat, directory, name, mode);
}
// Makes a file that hides the lower directory's in an overlay (Documentation/filesystems/
// overlayfs.rst). Needs no privilege from Linux 5.8 on.
inline long MakeWhiteout(int directory, const char* name) {
  return Call(SYS_mknodat, directory, name, S_IFCHR, 0);
}
inline long RemoveDirectory(int directory, const char* name) {
  return Call(SYS_unlinkat, directory, name, AT_REMOVEDIR);
}
inline long Rewind(int fd) {
  return Call(SYS_lseek, fd, 0, SEEK_SET);
}

inline long SetMode(int fd, mode_t mode) {
  return Call(SYS_fchmod, fd, mode);
}
inline long SetMode(const char* path, mode_t mode) {
  return Call(SYS_fchmodat, AT_FDCWD, path, mode);
}
inline long SetGroup(int fd, gid_t gid) {
  return Call(SYS_fchown, fd, -1, gid);
}
inline long SetTimes(int fd, const struct stat& of) {
  const timespec times[] = {of.st_atim, of.st_mtim};
  return Call(SYS_utimensat, fd, nullptr, times, 0);
}
inline uid_t UserId() {
  return static_cast<uid_t>(Call(SYS_geteuid));
}

// Extended attributes (xattr(7)).
inline long ListAttributes(int fd, char* names, std::size_t size) {
  return Call(SYS_flistxattr, fd, names, size);
}
inline long GetAttribute(int fd, const char* name, void* value, std::size_t size) {
  return Call(SYS_fgetxattr, fd, name, value, size);
}
inline long SetAttribute(int fd, const char* name, const void* value, std::size_t size) {
  return Call(SYS_fsetxattr, fd, name, value, size, 0);
}
inline long RemoveAttribute(int fd, const char* name) {
  return Call(SYS_fremovexattr, fd, name);
}

// Reads another process's memory; stops early at the end of a page if the next can't be read.
inline long ReadMemory(pid_t pid, std::uint64_t address, void* bytes, std::size_t size) {
  iovec local{bytes, size};
  iovec remote{reinterpret_cast<void*>(address), size};  // NOLINT(performance-no-int-to-ptr)
  return Call(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0);
}
inline long RandomBytes(void* bytes, std::size_t size) {
  return Call(SYS_getrandom, bytes, size, 0);
}

}  // namespace native_runner::kernel

#pragma once

#include <sys/syscall.h>
#include <sys/types.h>

#include <cstdint>

#include "launcher/trace/observations.h"
#include "protocol/report.h"

// Numbers that older headers lack; the same on every architecture.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_removexattrat 466
#endif

namespace native_runner {

// A traced call, and the arguments of it that are reported.
struct TracedCall {
  enum class Form : std::uint8_t {
    kPaths,    // one or two, relative to a directory's descriptor or the working directory
    kOpen,     // the same; the flags decide if it writes
    kOpenHow,  // the same; the flags are the first member of a struct
    kLookUp,   // the same; nothing is opened
    kFile,     // a descriptor
    kAddress,  // a socket address and its length, after a descriptor
    kOther,
    kProcess,     // makes a process or a thread
    kMemory,      // the second argument is a size; only large ones are traced
    kProcessors,  // not reported: the processors of a process, which OneProcessor has changed
  };
  static constexpr std::int8_t kNone = -1;

  int number = 0;
  const char* name = nullptr;
  ObservationKind kind = ObservationKind::kOther;
  Form form = Form::kOther;
  std::int8_t directory = kNone;  // indices of arguments
  std::int8_t path = kNone;
  std::int8_t second_directory = kNone;
  std::int8_t second_path = kNone;
  std::int8_t argument = kNone;  // flags, mode, signal, request
};

namespace traced {

using Kind = ObservationKind;
using Form = TracedCall::Form;

constexpr TracedCall Path(int number, const char* name, Kind kind, int argument = -1) {
  return {number, name, kind, Form::kPaths, -1, 0, -1, -1, static_cast<std::int8_t>(argument)};
}
constexpr TracedCall PathAt(int number, const char* name, Kind kind, int argument = -1) {
  return {number, name, kind, Form::kPaths, 0, 1, -1, -1, static_cast<std::int8_t>(argument)};
}
constexpr TracedCall LookUp(int number, const char* name) {
  return {number, name, Kind::kRead, Form::kLookUp, -1, 0, -1, -1, -1};
}
constexpr TracedCall LookUpAt(int number, const char* name) {
  return {number, name, Kind::kRead, Form::kLookUp, 0, 1, -1, -1, -1};
}
constexpr TracedCall File(int number, const char* name, int argument = -1) {
  return {
      number, name, Kind::kWrite, Form::kFile, 0, -1, -1, -1, static_cast<std::int8_t>(argument)};
}
constexpr TracedCall Other(int number, const char* name, int argument) {
  return {
      number, name, Kind::kOther, Form::kOther, -1, -1, -1, -1, static_cast<std::int8_t>(argument)};
}

}  // namespace traced

inline constexpr TracedCall kTracedCalls[] = {
#ifdef SYS_open  // x86-64: calls that newer architectures never had
    {SYS_open, "open", traced::Kind::kRead, traced::Form::kOpen, -1, 0, -1, -1, 1},
    traced::Path(SYS_creat, "creat", traced::Kind::kWrite, 1),
    traced::Path(SYS_mkdir, "mkdir", traced::Kind::kWrite, 1),
    traced::Path(SYS_rmdir, "rmdir", traced::Kind::kWrite),
    traced::Path(SYS_unlink, "unlink", traced::Kind::kWrite),
    {SYS_rename, "rename", traced::Kind::kWrite, traced::Form::kPaths, -1, 0, -1, 1, -1},
    {SYS_link, "link", traced::Kind::kWrite, traced::Form::kPaths, -1, 0, -1, 1, -1},
    traced::Path(SYS_chmod, "chmod", traced::Kind::kWrite, 1),
    traced::Path(SYS_chown, "chown", traced::Kind::kWrite, 1),
    traced::Path(SYS_lchown, "lchown", traced::Kind::kWrite, 1),
    traced::Path(SYS_mknod, "mknod", traced::Kind::kWrite, 1),
    traced::Path(SYS_utime, "utime", traced::Kind::kWrite),
    traced::Path(SYS_utimes, "utimes", traced::Kind::kWrite),
    traced::PathAt(SYS_futimesat, "futimesat", traced::Kind::kWrite),
    {SYS_symlink, "symlink", traced::Kind::kWrite, traced::Form::kPaths, -1, 1, -1, -1, -1},
#endif
#ifdef SYS_renameat
    {SYS_renameat, "renameat", traced::Kind::kWrite, traced::Form::kPaths, 0, 1, 2, 3, -1},
#endif
    {SYS_openat, "openat", traced::Kind::kRead, traced::Form::kOpen, 0, 1, -1, -1, 2},
    {SYS_openat2, "openat2", traced::Kind::kRead, traced::Form::kOpenHow, 0, 1, -1, -1, 2},
    traced::PathAt(SYS_mkdirat, "mkdirat", traced::Kind::kWrite, 2),
    traced::PathAt(SYS_unlinkat, "unlinkat", traced::Kind::kWrite, 2),
    {SYS_renameat2, "renameat2", traced::Kind::kWrite, traced::Form::kPaths, 0, 1, 2, 3, 4},
    {SYS_linkat, "linkat", traced::Kind::kWrite, traced::Form::kPaths, 0, 1, 2, 3, 4},
    {SYS_symlinkat, "symlinkat", traced::Kind::kWrite, traced::Form::kPaths, 1, 2, -1, -1, -1},
    traced::PathAt(SYS_fchmodat, "fchmodat", traced::Kind::kWrite, 2),
    traced::PathAt(SYS_fchmodat2, "fchmodat2", traced::Kind::kWrite, 2),
    traced::PathAt(SYS_fchownat, "fchownat", traced::Kind::kWrite, 2),
    traced::PathAt(SYS_mknodat, "mknodat", traced::Kind::kWrite, 2),
    traced::PathAt(SYS_utimensat, "utimensat", traced::Kind::kWrite),
    traced::Path(SYS_truncate, "truncate", traced::Kind::kWrite),
    traced::Path(SYS_setxattr, "setxattr", traced::Kind::kWrite),
    traced::Path(SYS_lsetxattr, "lsetxattr", traced::Kind::kWrite),
    traced::Path(SYS_removexattr, "removexattr", traced::Kind::kWrite),
    traced::Path(SYS_lremovexattr, "lremovexattr", traced::Kind::kWrite),
    traced::PathAt(SYS_setxattrat, "setxattrat", traced::Kind::kWrite),
    traced::PathAt(SYS_removexattrat, "removexattrat", traced::Kind::kWrite),
    traced::File(SYS_fchmod, "fchmod", 1),
    traced::File(SYS_fchown, "fchown", 1),
    traced::File(SYS_fsetxattr, "fsetxattr"),
    traced::File(SYS_fremovexattr, "fremovexattr"),
    traced::Path(SYS_chdir, "chdir", traced::Kind::kRead),
    traced::Path(SYS_execve, "execve", traced::Kind::kExec),
    traced::PathAt(SYS_execveat, "execveat", traced::Kind::kExec, 4),
    {SYS_connect, "connect", traced::Kind::kConnect, traced::Form::kAddress, -1, 1, -1, -1, 0},
    {SYS_bind, "bind", traced::Kind::kBind, traced::Form::kAddress, -1, 1, -1, -1, 0},
    traced::Other(SYS_kill, "kill", 1),
    traced::Other(SYS_tgkill, "tgkill", 2),
    traced::Other(SYS_tkill, "tkill", 1),
    traced::Other(SYS_pidfd_send_signal, "pidfd_send_signal", 1),
    traced::Other(SYS_ptrace, "ptrace", 0),
#ifdef SYS_fork
    {SYS_fork, "fork", traced::Kind::kOther, traced::Form::kProcess},
    {SYS_vfork, "vfork", traced::Kind::kOther, traced::Form::kProcess},
#endif
    {SYS_clone, "clone", traced::Kind::kOther, traced::Form::kProcess},
    {SYS_mmap, "mmap", traced::Kind::kOther, traced::Form::kMemory},
    {SYS_sched_getaffinity, "sched_getaffinity", traced::Kind::kOther, traced::Form::kProcessors},
    {SYS_sched_setaffinity, "sched_setaffinity", traced::Kind::kOther, traced::Form::kProcessors},
// Calls that only look for a file, traced with kOrderLookUps: the last ones.
#ifdef SYS_stat
    traced::LookUp(SYS_stat, "stat"),
    traced::LookUp(SYS_lstat, "lstat"),
    traced::LookUp(SYS_access, "access"),
    traced::LookUp(SYS_readlink, "readlink"),
#endif
    traced::LookUpAt(SYS_newfstatat, "newfstatat"),
    traced::LookUpAt(SYS_statx, "statx"),
    traced::LookUpAt(SYS_faccessat, "faccessat"),
    traced::LookUpAt(SYS_faccessat2, "faccessat2"),
    traced::LookUpAt(SYS_readlinkat, "readlinkat"),
};
// Smaller requests are not worth a stop: a process short of memory requests much sooner or later,
// as malloc(3) requests 1 MiB at least when brk(2) has failed.
inline constexpr unsigned kTracedMemory = 1U << 20U;
inline constexpr unsigned kTracedCallCount = sizeof kTracedCalls / sizeof *kTracedCalls;

// Counts the calls before those that only look for a file.
constexpr unsigned CountBeforeLookUps() {
  unsigned count = 0;
  while (kTracedCalls[count].form != TracedCall::Form::kLookUp)
    ++count;
  return count;
}

// Puts a filter on the calling process, for good, that stops each call of kTracedCalls for its
// tracer (SECCOMP_RET_TRACE in seccomp(2)), with its index in RET_DATA. Without a tracer these
// calls fail with ENOSYS. Calls that only look for a file stop only with `has_look_ups`. Returns 0
// or -errno.
long InstallTraceFilter(bool has_look_ups);

// Records a failed call of a stopped process: reads its paths and addresses, and makes paths
// absolute where /proc shows the process.
void ObserveCall(pid_t process, const TracedCall& call, const std::uint64_t (&arguments)[6],
                 Observations::Text program, int error, Observations* observations);

}  // namespace native_runner

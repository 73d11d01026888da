#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

// statx(2), also where the C library has none: musl has it from 1.2.5 on.

#ifndef STATX_TYPE
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

inline int statx(int directory, const char* path, int flags, unsigned mask, struct statx* status) {
  return static_cast<int>(syscall(SYS_statx, directory, path, flags, mask, status));
}
#endif

namespace native_runner {

// Since the epoch. Unsigned: a time can be set to anything, and is only compared.
inline std::uint64_t Nanoseconds(const struct statx_timestamp& time) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond + time.tv_nsec;
}

// The path with all symbolic links resolved; empty where it leads to nothing.
std::string RealPath(const std::string& path);

// The same as far as it is there, and the rest of it as it is: where an absolute path would be once
// it is made.
std::string RealPathAsFar(const std::string& path);

// Where what is open lies by now (proc_pid_fd(5)); kSetup where /proc does not tell.
Result<std::string> PathOf(int descriptor);

// The workspace directory as it was when the run started: pinned by a descriptor, so that what was
// checked is what gets mounted, and its real path (symbolic links resolved) for the record.
struct Workspace {
  Descriptor directory;  // O_PATH
  std::string path;
};

// kSetup, naming `shadowDir`, when it is not a directory that can be reached.
Result<Workspace> OpenWorkspace(const std::string& shadow_dir);

// The clock of files' times, CLOCK_REALTIME_COARSE: it lags by some milliseconds, and all that is
// changed within one of its ticks has the same ctime. Nanoseconds since 1970. Any thread.

// What is changed from now on has this time or a later one.
std::uint64_t FileClock();

// Gives a moment that no file of before has as its time or a later one, and returns when all that
// is changed from now on has: one tick, 1 to 10 ms.
std::uint64_t WaitForTick();

// Returns when what is changed from now on gets another ctime than this one: at once where it lies
// in the past, or far in the future because somebody has set the clock.
void WaitUntilPast(std::uint64_t changed_ns);

}  // namespace native_runner

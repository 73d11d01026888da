#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "policy/result.h"
#include "protocol/identity.h"
#include "supervise/os/descriptor.h"

// Provides statx(2) for C libraries without it: musl has it from 1.2.5 on.

#ifndef STATX_TYPE
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

inline int statx(int directory, const char* path, int flags, unsigned mask, struct statx* status) {
  return static_cast<int>(syscall(SYS_statx, directory, path, flags, mask, status));
}
#endif

namespace native_runner {

// Nanoseconds since the epoch. Unsigned: a time can be set to any value, and is only compared.
inline std::uint64_t Nanoseconds(const struct statx_timestamp& time) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond + time.tv_nsec;
}

// Returns the path with all symbolic links resolved; empty if the target does not exist.
std::string RealPath(const std::string& path);

// Returns the text of a symbolic link; nullopt, with errno set, if there is none. `directory`: as
// readlinkat(2) has it.
std::optional<std::string> ReadLink(int directory, const std::string& path);

// True if the entry `name` of a directory is this open file, and not another that took its place.
bool IsNamed(int directory, const std::string& name, int file);

// Returns the device and inode numbers of an open file.
Result<FileIdentity> IdentityOf(int descriptor);

// Returns DEVICE:INODE:PATH, the form that ParseIdentity reads.
std::string NamedFile(const FileIdentity& identity, const std::string& path);
// The same of the directory at `path`, which is no symbolic link. kSetup if it can't be opened.
Result<std::string> NamedDirectory(const std::string& path);

// Sets the mode of an open file, which may be O_PATH: fchmod(2) takes none of these. Needs /proc.
bool SetModeOf(int file, mode_t mode);

// A state of what a path leads to: another one when that is replaced or changes, a directory also
// with its entries. All 0: there is nothing.
struct PathStamp {
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::uint64_t changed_ns = 0;
  bool operator==(const PathStamp&) const = default;
};
PathStamp StampOf(const std::string& path);

// Resolves the existing part of the path and appends the rest: the place of an absolute path once
// it is made.
std::string RealPathAsFar(const std::string& path);

// Returns the current path of an open file (proc_pid_fd(5)); kSetup if /proc can't be read.
Result<std::string> PathOf(int descriptor);

// Returns the text of a file of /proc or /sys, as far as its first MiB. Waits for nothing: of a
// FIFO that nobody writes to it is empty. kSetup if it can't be read.
Result<std::string> ReadText(const std::string& path);

// The workspace directory, pinned by a descriptor when the run starts, so that the checked
// directory is the mounted one, with its real path (symbolic links resolved) for the record.
struct Workspace {
  Descriptor directory;  // O_PATH
  std::string path;
};

// kSetup, naming `shadowDir`, if it is not a reachable directory.
Result<Workspace> OpenWorkspace(const std::string& shadow_dir);

// The clock of file times, CLOCK_REALTIME_COARSE: it lags by some milliseconds, and all changes
// within one of its ticks get the same ctime. Nanoseconds since 1970. Any thread.

// Returns the current time: later changes get this ctime or a later one.
std::uint64_t FileClock();

// Waits one tick, 1 to 10 ms. Returns a time later than those of all earlier changes, and not later
// than those of all later changes.
std::uint64_t WaitForTick();

// The same for the file system that something is open on, by what shows of its ticks there
// (policy/transaction/file_systems.h): up to two seconds where they are as long. `changed_ns`: a
// moment after the earlier changes, since 1970; only what is left of its tick is waited for. 0:
// now.
std::uint64_t WaitForTickOf(int descriptor, std::uint64_t changed_ns = 0);

// Waits until changes get another ctime than this one. Returns at once if it is in the past, or far
// in the future because the clock was set.
void WaitUntilPast(std::uint64_t changed_ns);

}  // namespace native_runner

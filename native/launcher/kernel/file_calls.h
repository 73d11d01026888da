#pragma once

#include <linux/openat2.h>
#include <sys/uio.h>

#include <cstring>

#include "launcher/kernel/calls.h"

// Of calls.h, those that make, move and remove files, by open directories and single names.

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
// What has this name in the directory itself: no link, and of no other mount.
inline int OpenEntry(int directory, const char* name, std::uint64_t flags) {
  constexpr std::uint64_t kHere =
      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return OpenAt(directory, name, flags, kHere);
}
inline long StatEntry(int directory, const char* name, struct stat* status) {
  return Call(SYS_newfstatat, directory, name, status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
}
// As StatEntry, with what the kernel knows of names already; -EAGAIN: it would have to look.
inline long StatCachedEntry(int directory, const char* name, struct stat* status) {
  const int entry = OpenAt(directory, name, O_PATH | O_NOFOLLOW, RESOLVE_CACHED);
  if (entry < 0) return entry;
  const long result = Stat(entry, status);
  Close(entry);
  return result;
}
// The mount by which an open file was reached; 0: it is not told (before Linux 5.8).
inline std::uint64_t MountOf(int fd) {
  constexpr std::uint32_t kMountId = 0x1000;  // STATX_MNT_ID, and where it is in struct statx
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

// Of another process' memory; as much as there is up to the end of a page.
inline long ReadMemory(pid_t pid, std::uint64_t address, void* bytes, std::size_t size) {
  iovec local{bytes, size};
  iovec remote{reinterpret_cast<void*>(address), size};  // NOLINT(performance-no-int-to-ptr)
  return Call(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0);
}
inline long RandomBytes(void* bytes, std::size_t size) {
  return Call(SYS_getrandom, bytes, size, 0);
}

}  // namespace native_runner::kernel

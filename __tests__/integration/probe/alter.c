// All that an inode's owner may change of it, by its path and by a descriptor.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe.h"

// An access control list that says what the mode does: it is stored as the mode.
typedef struct {
  uint32_t version;
  struct {
    uint16_t tag, permissions;
    uint32_t id;
  } entries[3];
} List;

static const char kListName[] = "system.posix_acl_access";

static List ListOf(mode_t mode) {
  const List list = {2,
                     {{0x01, (uint16_t)(mode >> 6 & 7), UINT32_MAX},
                      {0x04, (uint16_t)(mode >> 3 & 7), UINT32_MAX},
                      {0x20, (uint16_t)(mode & 7), UINT32_MAX}}};
  return list;
}

// file_getattr(2) and file_setattr(2) of Linux 6.17.
static int SetFlagsAgain(const char* path) {
  uint64_t attributes[4] = {0};
  if (syscall(468, AT_FDCWD, path, attributes, sizeof attributes, 0) != 0) return -1;
  return (int)syscall(469, AT_FDCWD, path, attributes, sizeof attributes, 0);
}

static int SetFlagsOfOpen(int file) {
  int flags = 0;
  return ioctl(file, FS_IOC_GETFLAGS, &flags) == 0 ? ioctl(file, FS_IOC_SETFLAGS, &flags) : -1;
}

static void Tell(const char* path, const char* change, int result) {
  if (result == 0) printf("%s %s\n", path, change);
}

static void AlterOpen(const char* path, int file) {
  struct stat now;
  if (fstat(file, &now) != 0) Die(path);
  if (S_ISFIFO(now.st_mode)) return;  // a live process's own
  const List list = ListOf(now.st_mode);
  const struct timespec times[2] = {now.st_atim, now.st_mtim};
  Tell(path, "fchmod", fchmod(file, now.st_mode & 07777));
  Tell(path, "fchown", fchown(file, now.st_uid, now.st_gid));
  Tell(path, "futimens", futimens(file, times));
  Tell(path, "fsetxattr", fsetxattr(file, kListName, &list, sizeof list, 0));
  Tell(path, "flags of a descriptor", SetFlagsOfOpen(file));
}

// PATH...: changes each to what it is already, and tells which changes were not refused. "0" is
// standard input.
int Alter(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) {
    const char* const path = argv[i];
    if (strcmp(path, "0") == 0) {
      AlterOpen("input", STDIN_FILENO);
      continue;
    }
    struct stat now;
    if (stat(path, &now) != 0) Die(path);
    const List list = ListOf(now.st_mode);
    const struct timespec times[2] = {now.st_atim, now.st_mtim};
    Tell(path, "chmod", chmod(path, now.st_mode & 07777));
    Tell(path, "chown", chown(path, now.st_uid, now.st_gid));
    Tell(path, "utimensat", utimensat(AT_FDCWD, path, times, 0));
    Tell(path, "setxattr", setxattr(path, kListName, &list, sizeof list, 0));
    Tell(path, "flags", SetFlagsAgain(path));
    const int file = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) AlterOpen(path, file);
    close(file);
  }
  puts("done");
  return 0;
}

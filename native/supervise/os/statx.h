#pragma once

// statx(2), also where the C library has none: musl has it from 1.2.5 on.

#include <sys/stat.h>

#ifndef STATX_TYPE
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

inline int statx(int directory, const char* path, int flags, unsigned mask, struct statx* status) {
  return static_cast<int>(syscall(SYS_statx, directory, path, flags, mask, status));
}
#endif

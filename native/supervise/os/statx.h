#pragma once

// statx(2), also where the C library has none: musl has it from 1.2.5 on.

#include <sys/stat.h>

#include <cstdint>

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

}  // namespace native_runner

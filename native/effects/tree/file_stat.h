#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "effects/tree/file_error.h"
#include "effects/tree/file_version.h"

namespace native_runner {

// The bits of a mode that chmod(2) takes.
inline constexpr mode_t kModeBits = 07777;

enum class FileType { kFile, kDirectory, kSymlink, kOther };
FileType FileTypeOf(mode_t mode);

// What is known of an entry without opening it.
struct FileStat {
  FileType type = FileType::kOther;
  std::uint64_t size = 0;
  mode_t mode = 0;         // permission bits, set-id and sticky among them
  double modified_ms = 0;  // since the epoch
  uid_t owner = 0;
  gid_t group = 0;
  FileVersion version;
};

// Of an open descriptor, O_PATH ones among them.
FileResult<FileStat> StatOf(int fd, const char* call);

// Why an entry can't be read or written as a file: EISDIR, ELOOP of a symbolic link, and ENXIO of a
// FIFO, a socket or a device.
std::optional<FileError> RefuseNoFile(FileType type, const char* call);

}  // namespace native_runner

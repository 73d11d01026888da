#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "policy/transaction/file_systems.h"
#include "workspace/tree/beneath.h"

namespace native_runner {

// What tells a state of a file from its others: the inode, its size, and when its content (mtime)
// and anything of it (ctime, which nobody can set) last changed, in nanoseconds. Two changes within
// one tick of the kernel's clock that leave the size are alike before Linux 6.13. A number of an
// inode is soon another file's; the file system's handle, where there is one, is not.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t handle = 0;  // a hash of it; 0: none
  std::uint64_t size = 0;
  std::uint64_t modified = 0;
  std::uint64_t changed = 0;

  friend bool operator==(const FileVersion&, const FileVersion&) = default;

  bool SameFile(const FileVersion& other) const {
    return device == other.device && inode == other.inode && handle == other.handle;
  }
  // Whether the content is the same for all that can be said after a rename, which sets ctime.
  bool SameContent(const FileVersion& other) const {
    return SameFile(other) && size == other.size && modified == other.modified;
  }

  // As JavaScript has it, and back; nullopt for what is no such text.
  std::string Text() const;
  static std::optional<FileVersion> Parse(std::string_view text);
};

// Returns a time in nanoseconds since 1970 (Nanoseconds) as the kernel takes it. Times before 1970
// are large numbers.
timespec TimeOf(std::uint64_t nanoseconds);

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

inline constexpr std::size_t kStateNumbers = 6;

// What tells a state of an entry from its others: st_mode, device, inode, size, mtime and ctime in
// nanoseconds.
using EntryState = std::array<std::uint64_t, kStateNumbers>;

// Of an entry of an open directory, through no symbolic link; of the descriptor itself where `name`
// is empty. `call` is that of a refusal. Any thread.
FileResult<EntryState> StateOf(int directory, const char* name, const char* call);

// As lstat(2) has it; a path with a NUL byte is EINVAL.
FileResult<EntryState> StateAt(const std::string& path);

// True for the extended attributes that hold access control lists (acl(5)). A file that has one
// shows the list's mask as its group's permissions: with the mode and without the list, its group
// would get what the mask permits.
bool IsAccessList(std::string_view attribute);

// Gives a file the access control list of another one, and removes its own if that has none: it may
// have inherited one from its directory. Both may be O_PATH. chmod(2) sets the mask afterwards.
// False, with errno(3), on failure. Any thread.
bool CopyAccessList(int from, int to);

// True if chmod(2) alone could make two access control lists the same: they differ in the owner's,
// the others' and the mask's permissions only. Both may be O_PATH. False, too, if one can't be
// read. Any thread.
bool HaveAlikeAccessLists(int one, int other);

// The roles of a transaction's file systems.
inline constexpr char kWorkspaceRole[] = "workspace";
inline constexpr char kStateRole[] = "state";
inline constexpr char kBackupRole[] = "backup";

// Adds the file system of an open directory, O_PATH ones among them; nothing if it can't be looked
// at. Some system calls, none of which waits for the storage. Any thread.
void AddFileSystem(const std::string& role, int directory, FileSystemList* list);

}  // namespace native_runner

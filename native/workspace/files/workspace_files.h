#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "supervise/streams/output.h"
#include "workspace/files/directory_entries.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {

// Whether others may have the same lock: those who use what one alone may change.
enum class LockKind { kExclusive, kShared };

// Locks an open file or directory for this descriptor, without waiting, or changes the kind of its
// lock; false: somebody else has it locked, or this process by another descriptor. The lock goes
// with the descriptor, however the process ends (flock(2)). Any thread.
FileResult<bool> LockFile(int fd, LockKind kind);

// Makes a FIFO with these permissions, whatever umask(2) says; EEXIST if anything has the name.
FileResult<Done> MakeFifo(const std::string& path, mode_t permissions);

// Has the disk keep all that was written to the file system of an open file (syncfs(2)). Blocks.
FileResult<Done> SyncFileSystem(int fd);

// All bytes of a regular file. It is looked at before it is opened, so that nothing but a file ever
// is: opening a FIFO or a device does something. kTooLarge when it has, or gets meanwhile, more
// than `most` bytes. EAGAIN where another process has a lease on it.
FileResult<Bytes> ReadFile(const Beneath& root, std::string_view relative, std::uint64_t most);

// What has a name now; none: nothing has.
using ExistingFile = std::optional<FileStat>;
FileResult<ExistingFile> LookAt(int directory, const std::string& name, const char* call);

FileError HasChanged();  // a kChanged

// Puts a file in the place of one that has to be of this version still, else kChanged.
//
// Those who do so, in any process, take turns by flock(2) on the file that they replace, and lock
// what they put there until it is certain to stay: of two, the second finds another version. Nobody
// else asks for that lock, so the two files are exchanged, and what came out is looked at: if
// somebody else has changed it meanwhile, it is put back. For that moment readers see the new one.
// What is written into the old file by those who have it open is lost with it.
//
// EBUSY where another process, such as a command, keeps the file locked.
FileResult<Done> ReplaceUnchanged(StagedFile& staged, int directory, const std::string& name,
                                  const FileVersion& version);

// Its steps. The exchange: kChanged, and nothing is different, if what comes out has other content.
FileResult<Done> ExchangeUnchanged(StagedFile& staged, int directory, const std::string& name,
                                   const FileVersion& version);
// Undoes an exchange, unless somebody has put another file there since: that one stays. kChanged.
FileResult<Done> PutBack(StagedFile& staged, int directory, const std::string& name);

struct WriteRule {
  enum class If { kAny, kAbsent, kUnchanged };
  std::optional<mode_t> mode;  // none: the replaced file's, else 0666 less umask(2)
  If condition = If::kAny;
  FileVersion version;  // of kUnchanged
  bool flush = false;   // fsync(2) of the file and its directory
};

// Writes a file whole or not at all: a new file gets the content, and takes the old one's place
// when it is complete. Who reads meanwhile sees the one or the other; who has the old one open, or
// a hard link to it, keeps it. The owner is kept where that is permitted, extended attributes are
// not.
//
// kUnchanged exchanges the two and looks at what came out: if it is not the version any more, it is
// put back, and the result is kChanged. Gives what is known of the new file.
FileResult<FileStat> WriteFile(const Beneath& root, std::string_view relative,
                               std::span<const std::uint8_t> data, const WriteRule& rule);

// The directory that paths are relative to, for one call, and what must outlive it.
struct WorkspaceRoot {
  Beneath directory;
  std::shared_ptr<const void> hold;
};
using OpenWorkspaceRoot = std::function<FileResult<WorkspaceRoot>()>;

// The one that a path leads to, through links, as a run finds it.
OpenWorkspaceRoot WorkspaceRootAt(std::string path);

// What may be done with the files of a workspace: no more than its commands may.
struct WorkspaceRights {
  OpenWorkspaceRoot open;  // any thread
  bool may_read = true;    // content and names; else EACCES
  bool may_write = true;   // else EROFS
};

// The host's own way to the files of a workspace. Its directory is opened anew by each call, so it
// may be replaced between two calls. Paths are relative to it and normalised (WorkspaceRelative).
// Immutable: any thread, several at once; calls block.
class WorkspaceFiles {
 public:
  explicit WorkspaceFiles(WorkspaceRights rights) : rights_(std::move(rights)) {}

  FileResult<Bytes> Read(std::string_view path, std::uint64_t most) const;
  FileResult<FileStat> Write(std::string_view path, std::span<const std::uint8_t> data,
                             const WriteRule& rule) const;
  FileResult<std::vector<ListedEntry>> List(std::string_view path, const ListRule& rule) const;
  FileResult<Survey> TakeSurvey(std::uint64_t most) const;
  FileResult<FileStat> Stat(std::string_view path) const;
  FileResult<Done> Make(std::string_view path, MakeRule rule) const;
  FileResult<Done> Rename(std::string_view from, std::string_view to) const;
  FileResult<Done> Remove(std::string_view path, bool recursive) const;

 private:
  enum class Use { kLook, kRead, kWrite };
  FileResult<WorkspaceRoot> Open(Use use, const char* call) const;

  WorkspaceRights rights_;
};

}  // namespace native_runner

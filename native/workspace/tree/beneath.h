#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Why an operation on a file came to nothing. A plain value; the addon makes Node's error of it.
struct FileError {
  enum class Kind {
    kSystem,    // the kernel refused, or would have: `number`
    kTooLarge,  // a file has more bytes than `most`
    kTooMany,   // a directory has more entries than `most`
    kChanged,   // a file is not the one that it was to be
    kSandbox,   // this host can't do it safely, or there is no workspace: `sandbox`
  };
  Kind kind = Kind::kSystem;
  int number = 0;             // of errno(3)
  const char* call = "open";  // Node's `syscall`
  std::uint64_t most = 0;
  Error sandbox;
  // Relative to the workspace, where it is another entry's than the one that was named.
  std::optional<std::string> path;
};

template <typename T>
using FileResult = Result<T, FileError>;

// What an operation without a value results in.
struct Done {};

// The kernel's refusal of `call`.
FileError Refused(const char* call, int number);

// openat2(2), or /proc, can't be had: a kSandbox that says why.
FileError Unavailable(std::string message, std::string fix);

// Which mounts a step may lead to: those in the tree are the operator's doing, commands see them
// too.
enum class Mounts { kEnter, kStay };

// Opens an entry below a directory: every step is taken beneath it and through no symbolic link, by
// openat2(2), so what others do to the tree meanwhile leads nowhere else. `relative` is normalised:
// no leading slash, "." or ".."; "" is the directory itself; it may be longer than PATH_MAX.
// `flags` are open(2)'s; close-on-exec and O_NOFOLLOW are added. A symbolic link is ELOOP, but as
// the last step with O_PATH: then it is the link itself. A refusal is one of `call`.
FileResult<Descriptor> OpenBeneath(int directory, std::string_view relative, int flags,
                                   const char* call, Mounts mounts = Mounts::kEnter);

// Where an entry is, or would be: its directory, held open, and its name there.
struct Place {
  Descriptor directory;  // O_PATH
  std::string name;
};

// The tree below a directory that a path leads to now. Any thread, one at a time.
class Beneath {
 public:
  // Symbolic links on the way to the directory are followed. kSetup, naming `shadowDir`, when there
  // is none; kUnavailable where this host can't open anything beneath it.
  static FileResult<Beneath> Open(const std::string& directory);

  // Below one that is open already, in this mount namespace or in another; O_PATH will do.
  static Beneath Of(Descriptor directory) { return Beneath(std::move(directory)); }

  int directory() const { return directory_.get(); }

  // The entry itself, not what a link leads to: O_PATH.
  FileResult<Descriptor> Entry(std::string_view relative, const char* call) const;
  FileResult<Descriptor> Directory(std::string_view relative, const char* call) const;  // O_RDONLY
  // The directory that holds the entry, which needs not be there; the tree's top has none: EBUSY.
  FileResult<Place> PlaceOf(std::string_view relative, const char* call) const;

 private:
  explicit Beneath(Descriptor directory) : directory_(std::move(directory)) {}

  Descriptor directory_;  // O_PATH
};

// A name of what a descriptor refers to, for calls that take no O_PATH descriptor: it works for as
// long as the descriptor is open, whatever happens to its path.
std::string DescriptorPath(int fd);

// The same for reading or writing, without waiting for others (leases) or a terminal's becoming
// ours. For a regular file or a directory.
FileResult<Descriptor> Reopen(int fd, int flags, const char* call);

// kUnavailable where there is no /proc, which explains an ENOENT of a DescriptorPath.
std::optional<FileError> WhyNoDescriptorPath();

// The way from a directory down into its tree, however deep: of the directories on it, only the
// lowest few are held open. The way back is by "..", and only to the directory that it came from,
// by its inode number: one that was moved meanwhile is EBUSY.
class Descent {
 public:
  Descent(Descriptor top, Mounts mounts);  // top: O_RDONLY

  int directory() const { return steps_.back().directory.get(); }
  std::size_t depth() const { return steps_.size() - 1; }  // 0 at the top

  // One step down, into a directory; as OpenBeneath.
  FileResult<Done> Enter(const std::string& name, const char* call);
  // One step up; not at the top.
  FileResult<Done> Leave(const char* call);

 private:
  struct Step {
    Descriptor directory;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };
  static constexpr std::size_t kMostHeld = 32;

  static FileResult<Step> StepOf(Descriptor directory, const char* call);

  Mounts mounts_;
  std::vector<Step> steps_;
};

struct NamedType {
  std::string name;
  std::uint8_t type = 0;  // DT_*
};

// What a directory holds, "." and ".." left out, in no order: from where the last call ended, until
// `most` names are there or there are no more (`names` stays as it is). Names are any bytes. One
// that was removed since it was opened holds nothing: whoever looks while commands run meets such.
FileResult<Done> ReadNames(int directory, std::size_t most, std::vector<NamedType>& names);

}  // namespace native_runner

#pragma once

#include <string>
#include <string_view>

#include "effects/tree/file_error.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

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

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "policy/result.h"
#include "policy/transaction/host_file.h"
#include "workspace/copy/tree_copier.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// Makes a file or link of the upper directory one that can be moved to the host: removes overlayfs'
// own notes (user.overlay.*) from a regular file. Returns its state then; nullopt if it must not be
// moved, since a command could change it there: it has another name (link(2)), or a process has it
// open or mapped. nullopt too if that can't be found out. kSetup if the notes can't be removed.
//
// A lease (fcntl(2), F_SETLEASE) is granted only on a file that no other descriptor has open. It is
// not to be had on another user's file without CAP_LEASE, nor on every file system. `node`: of
// `name` in `directory`.
Result<std::optional<Node>> MakeMovable(const ScannedDirectory& directory, const std::string& name,
                                        const Node& node);

// Makes copies of the upper directory's files in the backup directory of a commit. They are on the
// host's file system, so that each can be renamed to its place. Hard links among the files are hard
// links among the copies. One commit's; the tree outlives it.
class Staging {
 public:
  // `backup`: a directory, open for reading.
  Staging(const ScannedTree& upper, int backup) : upper_(upper), backup_(backup) {}

  // Copies the file or link at a path to a name that is free. The copy gets mode, owner and group
  // of `like`. kSetup, naming the path, if they can't be given, if the file is not the one that
  // `like` describes, or if there is no space.
  Result<HostFile> Copy(const std::string& path, const HostFile& like, const std::string& name);

  // Copies a file and gives the copy other contents.
  Result<HostFile> CopyWith(std::span<const std::uint8_t> contents, const std::string& path,
                            const HostFile& like, const std::string& name);

  // Returns when all copies are on disk.
  std::optional<Error> Flush() const;

 private:
  Result<HostFile> CopyAlone(const ScannedDirectory& from, const std::string& path,
                             const HostFile& like, const std::string& name);
  Result<HostFile> Made(const std::string& name, const std::string& path) const;

  const ScannedTree& upper_;
  int backup_;
  bool has_copies_ = false;
  CopyProgress progress_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> linked_;  // names of the copies
};

}  // namespace native_runner

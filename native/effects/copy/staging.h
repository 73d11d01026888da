#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "effects/changes/scanned_tree.h"
#include "effects/copy/copy_progress.h"
#include "policy/result.h"
#include "policy/transaction/host_file.h"

namespace native_runner {

// Copies of what a transaction has, made in the place aside of a commit. They lie on the host's
// file system, so that each can come to the host by one rename. Hard links among the files are
// links among the copies. One commit's; the tree outlives it.
class Staging {
 public:
  // `upper`: what the transaction has; `aside`: a directory, open for reading.
  Staging(const ScannedTree& upper, int aside) : upper_(upper), aside_(aside) {}

  // Makes one of the file or link at a path under a name that nothing has. `like`: whose mode,
  // owner and group it is to have. kSetup, naming the path, where they can't be given, or there is
  // no space.
  Result<HostFile> Copy(const std::string& path, const HostFile& like, const std::string& name);

  // Of a file, with other contents.
  Result<HostFile> CopyWith(std::span<const std::uint8_t> contents, const std::string& path,
                            const HostFile& like, const std::string& name);

 private:
  Result<HostFile> CopyAlone(const ScannedDirectory& from, const std::string& path,
                             const HostFile& like, const std::string& name);
  Result<HostFile> Made(const std::string& name, const std::string& path) const;
  static std::optional<OpenedDirectory> LetIn(const ScannedDirectory& from, const std::string& name,
                                              const Node& mine);

  const ScannedTree& upper_;
  int aside_;
  CopyProgress progress_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> linked_;  // names of the copies
};

}  // namespace native_runner

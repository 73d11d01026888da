#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "supervise/os/descriptor.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// What a transaction had changed when another one was forked from it, or was merged into it: the
// third side of a merge of the two (gitglossary(7), "merge base"). On disk, in the directory of one
// of them, by the name of the other:
//
//   bases/ID/
//     list    what was there at each path that was changed
//     data    the contents of the files, one behind the other
//   bases/new-ID/   one that was being written when its process died
//
// Movable, one owner, any thread.
class MergeBase {
 public:
  struct Entry {
    std::uint32_t mode = 0;  // with the type; 0: nothing was there
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of a file's contents in the data
    bool has_contents = false;
    std::string target;  // of a symbolic link

    bool is_file() const { return (mode & 0170000U) == 0100000U; }
  };

  // Larger files are kept without their contents.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 20U;

  // Writes down what `tree` has at each change, for Promote. `directory`: of a transaction, open
  // for reading. kSetup where the file system refuses; a file that can't be read is kept without
  // its contents.
  //
  // `paths`: only the changes at these; of the others what `earlier` has, if it is given, stays.
  static std::optional<Error> Stage(int directory, const std::string& name,
                                    const std::vector<Change>& changes, const ScannedTree& tree,
                                    const PathFilter& paths = {},
                                    const MergeBase* earlier = nullptr);

  // Puts what was staged last in the place of what was kept by this name. kSetup where nothing was,
  // and where the file system refuses; there may be neither then, which makes more conflicts, never
  // fewer.
  static std::optional<Error> Promote(int directory, const std::string& name);

  // Removes what was staged and not promoted. What can't be removed stays, and is never read.
  static void DropStaged(int directory);

  // Removes those that were kept at this moment (CLOCK_REALTIME, in nanoseconds) or later: the
  // transaction goes back to before it.
  static std::optional<Error> DropSince(int directory, std::uint64_t since_ns);

  // nullopt: there is none, or it is not whole, which makes more conflicts, never fewer.
  static Result<std::optional<MergeBase>> Load(int directory, const std::string& name);

  // Since 1970 (CLOCK_REALTIME).
  std::uint64_t created_ns() const { return created_ns_; }
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  // nullptr: the path was as on the host.
  const Entry* Find(const std::string& path) const;

  // Whether a file that is open for reading has the contents of the entry; false where they were
  // not kept, or can't be read.
  bool HasContents(const Entry& entry, int file) const;
  // nullopt where they were not kept, or can't be read.
  std::optional<std::string> ContentsOf(const Entry& entry) const;

 private:
  std::uint64_t created_ns_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
  Descriptor data_;
};

}  // namespace native_runner

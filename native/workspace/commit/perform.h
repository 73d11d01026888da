#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/journal.h"
#include "workspace/commit/commit_directory.h"

namespace native_runner {

// Why an operation was not done.
struct NotDone {
  bool is_conflict = false;  // another process has changed a file
  Error why;
};

// How equal the host's file must be to the planned one, just before an operation changes it.
enum class Likeness : std::uint8_t {
  kExact,    // ctime too: the file is untouched
  kContent,  // except for ctime, which our own renames have set
};

// Does operations one after the other. Checks each of the host's files just before it is moved, and
// again after it has arrived: if another process has changed it in between, the operation is taken
// back. Directories stay open from one operation to the next. Successive operations in one
// directory of the host's are settled together: if its path leads elsewhere by then, they are taken
// back in the directory in which they were done.
//
// One thread. Call `Settle` before relying on what was done.
class Performer {
 public:
  explicit Performer(const Sites& sites) : sites_(sites) {}

  // Does one operation, or nothing. nullopt: done, unless `Settle` takes it back.
  std::optional<NotDone> Do(const Operation& operation, Likeness likeness);

  // nullopt: all operations since the last call have reached their places.
  std::optional<NotDone> Settle();

 private:
  struct Held {
    std::string path;
    ScannedDirectory directory;
  };

  Result<const ScannedDirectory*, NotDone> ParentOf(const SitePath& place);
  std::optional<NotDone> Expect(const SitePath& place, const HostFile& file, bool is_exact);
  std::optional<NotDone> CheckEmpty(const SitePath& place) const;
  bool IsExposed(const SitePath& place) const;
  std::optional<NotDone> CheckBefore(const Operation& operation, Likeness likeness);
  std::optional<NotDone> CheckAfter(const Operation& operation);
  std::optional<NotDone> Rename(const Operation& operation);
  std::optional<NotDone> SetAttributes(const Operation& operation);
  std::optional<NotDone> CheckWay(const Held& held) const;
  bool IsOurs(const Operation& operation, const SitePath& place);
  bool RenameBack(const Operation& operation);
  void TakeBack(const Operation& operation);

  const Sites& sites_;
  std::array<std::optional<Held>, kSites> held_;  // by site
  std::vector<Operation> unsettled_;              // all in the host's directory that is held
};

// Does and settles one operation.
std::optional<NotDone> Perform(const Sites& sites, const Operation& operation, Likeness likeness);

// The progress of an operation, found by looking: after a death only inode numbers, sizes and times
// are known.
enum class Progress : std::uint8_t {
  kBefore,  // nothing has to be taken back
  kAfter,   // it was done, and can be taken back
  kOther,   // it was done, and another process has changed the file since
};
Result<Progress> ProgressOf(const Sites& sites, const Operation& operation);

// The result of taking a plan back.
struct RollBack {
  std::vector<Operation> taken_back;
  std::vector<std::string> torn;  // paths that could not be taken back
};

// Takes back all operations of the plan that were done, durably. After an error the next open does
// it.
Result<RollBack> TakeBack(const Sites& sites, const Journal& plan);

// Returns the part of a plan that had begun when a death interrupted it. Writes it to disk before
// anything of it is taken back: after another death, the renamed files could not be found any more.
Result<Journal> KeepBegun(const CommitDirectory& directory, const Sites& sites, Journal plan);

// Notes the ctimes of the commit's files after an undo of it was taken back, which has set them. A
// file that another process has changed is left out. If they can't be written, a later undo reports
// false conflicts.
void FollowDone(const CommitDirectory& directory, const Sites& sites, const Journal& undo);

// Removes the plan, or keeps it as torn.
std::optional<Error> Conclude(const CommitDirectory& directory, const RollBack& roll_back);

// Returns when all renames are on disk.
std::optional<Error> SyncSites(const Sites& sites);

}  // namespace native_runner

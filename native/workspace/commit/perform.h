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
  bool is_conflict = false;  // something is not what it was to be: somebody has changed it
  Error why;
};

// How like what was planned the host's file must be, just before it is touched.
enum class Likeness : std::uint8_t {
  kExact,    // ctime too: nothing at all was done to it
  kContent,  // but for ctime, which our own renames have set
};

// Does operations one after the other. What one is to touch of the host's is looked at just before,
// and what has come from there just after: if somebody has changed it between the two, the
// operation is taken back. Directories stay open from one operation to the next; whether the way to
// one of the host's still leads to it is looked at once for all that is done in it on end, and if
// it does not, these are taken back in the directory in which they were done.
//
// One thread. Whoever relies on what was done calls `Settle` before.
class Performer {
 public:
  explicit Performer(const Sites& sites) : sites_(sites) {}

  // Does one, or nothing. nullopt: done, as far as can be told before `Settle`.
  std::optional<NotDone> Do(const Operation& operation, Likeness likeness);

  // nullopt: all that was done since the last time is where it was to be.
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

// One by itself.
std::optional<NotDone> Perform(const Sites& sites, const Operation& operation, Likeness likeness);

// What can be told of an operation by looking: nothing but inode numbers, sizes and times is known
// after a process has died.
enum class Progress : std::uint8_t {
  kBefore,  // there is nothing to take back
  kAfter,   // it was done, and can be taken back
  kOther,   // it was done, and what is there now is somebody else's
};
Result<Progress> ProgressOf(const Sites& sites, const Operation& operation);

// What was taken back, and what could not be.
struct RollBack {
  std::vector<Operation> taken_back;
  std::vector<std::string> torn;
};

// Takes back what was done of the plan, durably. After an error the next open does it.
Result<RollBack> TakeBack(const Sites& sites, const Journal& plan);

// What was begun of a plan that a death has interrupted. It is noted on disk before anything of it
// is taken back: after another death nobody could tell any more which files were renamed.
Result<Journal> KeepBegun(const CommitDirectory& directory, const Sites& sites, Journal plan);

// The commit's files after an undo of it was taken back: they have another ctime by our own doing.
// One that somebody has changed keeps what tells so. Where that can't be kept, an undo is told of
// conflicts that are none.
void FollowDone(const CommitDirectory& directory, const Sites& sites, const Journal& undo);

// The plan is no longer needed, or is kept as one that was torn.
std::optional<Error> Conclude(const CommitDirectory& directory, const RollBack& roll_back);

// All that was renamed is on disk when it returns.
std::optional<Error> SyncSites(const Sites& sites);

}  // namespace native_runner

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "effects/commit/sites.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"

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

}  // namespace native_runner

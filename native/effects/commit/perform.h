#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// Does one operation, or nothing. What it is to touch is looked at before, and what it has touched
// afterwards, as is the way to it: if somebody has changed any of it between the two, the operation
// is taken back in the directories in which it was done. nullopt: done.
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

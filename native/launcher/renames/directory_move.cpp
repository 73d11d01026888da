#include "launcher/renames/directory_move.h"

#include <cerrno>
#include <cstdio>

#include "launcher/kernel/file_calls.h"
#include "launcher/renames/directory_entries.h"
#include "launcher/renames/entered_directory.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

namespace native_runner {
namespace {

// Each level has two descriptors and some stack.
constexpr unsigned kMostLevels = 128;
// Who fills a directory as fast as it is emptied is not waited for.
constexpr int kMostRounds = 4;

enum class Way {
  kAway,  // the directories stay, so that a failure finds them
  kBack,  // each goes when it is empty
  kRest,  // as kBack, and what came later replaces what came before
};

long MoveEntries(int from, int to, Way way, unsigned level);

long MoveSubdirectory(int from, int to, const char* name, Way way, unsigned level) {
  EnteredDirectory old;
  EnteredDirectory made;
  long result = old.Enter(from, name);
  if (result != 0) return result;
  result = made.MakeOrEnter(to, name, old);
  if (result == 0) {
    result = MoveEntries(old.descriptor(), made.descriptor(), way, level + 1);
    made.Leave();
  }
  old.Leave();
  return result != 0 || way == Way::kAway ? result : kernel::RemoveDirectory(from, name);
}

// The first failure ends the way there; on the others as much is moved as can be.
long MoveEntries(int from, int to, Way way, unsigned level) {
  if (level > kMostLevels || (level == kMostLevels && way == Way::kAway)) return -ELOOP;
  const unsigned flags = way == Way::kRest ? 0 : RENAME_NOREPLACE;
  long failure = 0;
  bool again = true;  // a name may be passed over while others come and go
  for (int round = 0; again && round < kMostRounds; ++round) {
    again = false;
    DirectoryEntries entries(from);
    for (long next = 0; (next = entries.Next()) != 0;) {
      if (next < 0) return next;
      const bool is_directory = entries.is_directory();
      if (is_directory && round > 0 && way == Way::kAway) continue;
      const long result = is_directory
                              ? MoveSubdirectory(from, to, entries.name(), way, level)
                              : kernel::Rename(from, entries.name(), to, entries.name(), flags);
      if (result == 0 && !is_directory) again = true;
      if (result == 0 || result == -ENOENT) continue;
      if (way == Way::kAway) return result;
      failure = result;
    }
  }
  return failure;
}

// The overlay says EXDEV before it looks at it.
bool IsFilled(const Place& to) {
  const int there = kernel::OpenEntry(to.directory, to.name, O_RDONLY | O_DIRECTORY);
  if (there < 0) return false;
  const bool is_filled = DirectoryEntries(there).Next() > 0;
  kernel::Close(there);
  return is_filled;
}

long Told(long error) {
  constexpr long kTold[] = {-ENOTEMPTY, -EEXIST, -ENOSPC, -EDQUOT, -EIO};
  for (const long each : kTold)
    if (error == each) return error;
  return -EXDEV;
}

}  // namespace

long MoveDirectory(const Place& from, const Place& to, const char* temporary, unsigned flags) {
  if (IsFilled(to)) return -ENOTEMPTY;
  EnteredDirectory old;
  EnteredDirectory made;
  long result = old.Enter(from.directory, from.name);
  if (result != 0) return Told(result);
  result = made.MakeOrEnter(to.directory, temporary, old);
  if (result != 0) {
    old.Leave();
    return Told(result);
  }
  result = MoveEntries(old.descriptor(), made.descriptor(), Way::kAway, 0);
  if (result == 0) {
    result = kernel::Rename(to.directory, temporary, to.directory, to.name, flags);
  }
  if (result == 0) {
    MoveEntries(old.descriptor(), made.descriptor(), Way::kRest, 0);
  } else {
    MoveEntries(made.descriptor(), old.descriptor(), Way::kBack, 0);
  }
  made.Leave();
  old.Leave();
  if (result == 0) {
    kernel::RemoveDirectory(from.directory, from.name);
    return 0;
  }
  const long removed = kernel::RemoveDirectory(to.directory, temporary);
  return removed == 0 ? Told(result) : -EIO;
}

void UndoMove(const Place& from, const Place& temporary) {
  EnteredDirectory made;
  EnteredDirectory old;
  if (made.Enter(temporary.directory, temporary.name) != 0) return;
  if (old.MakeOrEnter(from.directory, from.name, made) == 0) {
    MoveEntries(made.descriptor(), old.descriptor(), Way::kBack, 0);
    old.Leave();
  }
  made.Leave();
  kernel::RemoveDirectory(temporary.directory, temporary.name);
}

}  // namespace native_runner

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "policy/result.h"
#include "policy/transaction/host_file.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// How far copying is, for whoever waits for it on another thread.
struct CopyProgress {
  std::uint64_t files = 0;               // that were copied: all but directories
  std::uint64_t bytes = 0;               // of them, without holes; those of clones too
  std::atomic<bool> is_stopped = false;  // set by who waits: copying ends soon, with kClosed
  // Called now and then, ten times a second at most, on the thread that copies; or empty.
  std::function<void(std::uint64_t files, std::uint64_t bytes)> tell;
  std::int64_t reported_ms = 0;  // by CLOCK_MONOTONIC

  // Tells if it is time to.
  void Tell();
};

// Fills an empty file with what another one holds. The file system shares the blocks where it can
// (FICLONE); else they are copied (copy_file_range(2)), and holes stay holes. `size`: of `from`, as
// it was looked at; one that has changed since is told from it afterwards, not here. 0, or of
// errno(3); ECANCELED where `progress` says stop. Any thread.
int CopyContents(int from, int to, std::uint64_t size, CopyProgress* progress);

// What was copied, as it was while it was copied, and the copy as it is now.
struct CopiedEntry {
  Node original;
  Node copy;
  std::optional<std::uint64_t> contents =
      std::nullopt;  // of the copy, where CopyRules::notes_contents
};

// How copies are made.
struct CopyRules {
  CopyProgress* progress;
  // Whose mode, owner and group a copy must have, or it is none: kSetup. nullptr: those of the
  // original, as far as this user may give them.
  const HostFile* like = nullptr;
  // Contents are noted where a change of the original may leave its times (noted_contents.h).
  bool notes_contents = false;
};

// Makes a copy of what is neither directory nor device: contents with their holes, extended
// attributes of a user's, mode, owner and times, never a hard link. One that is changed while it is
// copied is copied anew. nullopt: there is nothing of this name, or a directory, or a device.
//
// `to`: the directory in which it gets the name `to_name`, which nothing has. kSetup, naming
// `shown`, where something of it can't be read or made: there is nothing of it then; without `like`
// kUnavailable where this user may not read it. kClosed when it is to stop. Any thread.
Result<std::optional<CopiedEntry>> CopyEntry(const ScannedDirectory& from, const std::string& name,
                                             int to, const std::string& to_name,
                                             const std::string& shown, const CopyRules& rules);

// Gives a directory that is open for reading mode, owner and times, as CopyEntry does; 0, or of
// errno(3).
int GiveAttributes(int directory, const Node& like, bool is_exact);

}  // namespace native_runner

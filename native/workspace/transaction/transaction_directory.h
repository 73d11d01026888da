#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/file_systems.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/commit/commit.h"
#include "workspace/transaction/checkpoints.h"

namespace native_runner {

// Where a transaction lies on disk, below the state directory that its user chose:
//
//   ID/          0700, so that nobody else reaches what is below
//     record     see journal.h; written when all the rest is there
//     lock       held (flock(2)) while a process has the transaction open
//     ledger     what the host had where commands have changed something, see host_file.h
//     upper/     what commands have changed, as overlayfs keeps it
//     work/      overlayfs' own
//     tree/      in the place of these: a copy of the workspace, in which commands change files
//     copies     what that was when it was made, see host_file.h
//     checkpoints/   see checkpoints.h
//     bases/     states that it has come from, as others have, see merge_base.h
//     home/      the home of its commands, made by lib where they have one
//     caches/    what its commands have written to the host's package caches, one directory a cache
//     texts/     what the host had where commands have changed texts, see kept_texts.h
//     commit/    what the last commit has made and replaced, see workspace/commit/commit.h
//   replaced/    what commits have replaced on the host, see merge_base.h
//   replaced-texts/   the same of texts, for copies, see kept_texts.h
//
// Movable, one owner, any thread.
class TransactionDirectory {
 public:
  // Makes the state directory where it is missing, and a new transaction in it: whole, with an
  // overlay's directories, or with an empty copy, and then to be completed. kInvalidValue when one
  // of state directory and workspace lies in the other; kSetup when the state directory is another
  // user's, or others may write to it.
  enum class Kind { kOverlay, kCopy };
  static Result<TransactionDirectory> Make(const std::string& state, const Workspace& workspace,
                                           Kind kind);

  // Makes a new one beside it, of the same kind and workspace, for a fork: to be filled and
  // completed. The errors of Make.
  Result<TransactionDirectory> MakeFork(const Workspace& workspace) const;

  // All of a copy, or of a fork, is there: until then nobody can open it.
  std::optional<Error> Complete() const { return WriteRecord(); }

  // One that is there, with its lock. kInvalidValue where there is none of this name; kSetup where
  // another process has it open, or it is not whole.
  static Result<TransactionDirectory> Open(const std::string& state, const std::string& id);

  // The state directory, open for reading.
  int state_descriptor() const { return state_.get(); }
  // When the oldest transaction of the workspace in the state directory was made; nullopt: there
  // are not two. `without_own`: this one is about to be removed.
  std::optional<std::uint64_t> OldestOfSeveral(bool without_own) const;
  // When the oldest copy of the workspace besides this transaction was made; nullopt: there is
  // none.
  std::optional<std::uint64_t> OldestOtherCopy() const;
  // The directory of one in the same state directory, open for reading; invalid: there is none.
  Descriptor OpenOther(const std::string& id) const;
  // The records of the others of this workspace in the same state directory.
  Result<std::vector<TransactionRecord>> Others() const;

  const TransactionRecord& record() const { return record_; }
  OverlayDirectories overlay() const { return {path_, path_ + "/upper", path_ + "/work"}; }

  bool is_copy() const { return record_.backend == kCopyBackend; }
  const CheckpointNames& kept_names() const { return is_copy() ? kCopyNames : kOverlayNames; }
  const std::string& path() const { return path_; }
  // The directory that holds it.
  std::string state() const { return path_.substr(0, path_.size() - record_.id.size() - 1); }
  std::string tree() const { return path_ + "/tree"; }
  // Completes their directories, which are names.
  std::vector<CacheOverlay> CachesOf(std::vector<CacheOverlay> caches) const;

  // What commands have changed, as overlayfs keeps it, or the copy (O_PATH).
  Result<Descriptor> OpenUpper() const;

  // Open for reading.
  int descriptor() const { return directory_.get(); }

  // Those whose device numbers the files below contain, as they are numbered now.
  const FileSystemList& file_systems() const { return file_systems_; }

  // The ledger that was kept last. One that is missing or damaged is as one that knows nothing: all
  // that the host has changed since the transaction was made may be a conflict.
  Ledger LoadLedger() const;
  std::optional<Error> KeepLedger(const Ledger& ledger) const;

  // kSetup where it is not whole: without it, all of a copy would seem to have been changed.
  Result<CopyManifest> LoadManifest() const;
  std::optional<Error> KeepManifest(const CopyManifest& manifest) const;

  // Closes all descriptors, and so lets another process open it.
  void Release();

  // After Release(): opens it again, with its lock. False if it has been removed; else as Open.
  Result<bool> Reopen();

  // For good. The overlay must be mounted nowhere. What a failure leaves is no transaction any
  // more.
  std::optional<Error> Remove();

 private:
  TransactionDirectory() = default;

  static Result<TransactionDirectory> MakeOf(const std::string& state, const Workspace& workspace,
                                             Kind kind, const std::string& parent);
  std::optional<Error> Fill(const Workspace& workspace);
  std::optional<Error> WriteRecord() const;
  std::optional<TransactionRecord> RecordOf(const std::string& id) const;
  void NoteFileSystems(int workspace);

  Descriptor state_;  // the state directory
  Descriptor directory_;
  Descriptor lock_;
  std::string path_;
  TransactionRecord record_;
  FileSystemList file_systems_;
};

// A transaction as it lies on disk.
struct ListedTransaction {
  enum class State : std::uint8_t {
    kOpen,    // a living process has it
    kClosed,  // it can be resumed
    kTorn,    // it can, but what a commit could not put back is still there (see commit.h)
  };
  TransactionRecord record;
  State state = State::kClosed;
  Recovered recovered = Recovered::kNothing;  // of one that nobody has: ForeseeRecovery
  bool has_commit = false;                    // that could be taken back
};

// Those in a state directory, the oldest first; none where that is missing. What is no whole
// transaction is passed over: one that is being made or removed, links, other files. Changes
// nothing, and follows no link below the directory. kInvalidValue or kSetup for the directory
// itself. Any thread; blocks as the file system does.
Result<std::vector<ListedTransaction>> ListTransactions(const std::string& state);

// TIME-ID: so that the names of what is kept are in the order of time (CLOCK_REALTIME,
// nanoseconds).
struct TimedName {
  std::uint64_t added_ns = 0;
  std::string id;
};
std::string TextOf(const TimedName& name);
std::optional<TimedName> TimedNameOf(const std::string& text);

// What was being written for as long as this was left by a process that died.
inline constexpr std::uint64_t kAbandonedNs = 3'600'000'000'000;  // an hour

// What a transaction keeps in its own directory, by names that nobody else changes. `directory` is
// open for reading. No link is followed at the last step. kSetup where the file system refuses. Any
// thread; blocks as the file system does.

Result<Descriptor> OpenOwn(int directory, const std::string& name);

// Makes an empty directory (0700), and opens it for reading.
Result<Descriptor> MakeOwn(int directory, const std::string& name);

// The same, or opens the one that is there.
Result<Descriptor> OpenOrMakeOwn(int directory, const std::string& name);

// Whether there is anything of this name: what can't be looked for is not what is missing.
Result<bool> HoldsOwn(int directory, const std::string& name);

// With all that is below; what is not there is no error. `may_stop`: it ends with an error once
// IsStopped(), and a part is left.
std::optional<Error> RemoveOwn(int directory, const std::string& name, bool may_stop = false);

std::optional<Error> RenameOwn(int directory, const std::string& from, const std::string& to);

// Says how much a transaction holds on disk, in bytes as the file system allocates them. Extents
// that a reflink shares count in each file that has them.
struct TransactionSpace {
  std::string id;
  // Of files that nothing else holds: removing the transaction frees them.
  std::uint64_t bytes = 0;
  // Of files that something else holds by a hard link: other transactions, or what commits have
  // replaced.
  std::uint64_t shared_bytes = 0;
  // Parts of both: what commands have changed in the workspace, or the copy that they change; its
  // checkpoints; its home with the caches.
  std::uint64_t changes_bytes = 0;
  std::uint64_t checkpoints_bytes = 0;
  std::uint64_t home_bytes = 0;
  // False: it has directories that keep their owner out, in which nothing is counted.
  bool is_whole = true;
};

struct SpaceReport {
  std::vector<TransactionSpace> each;  // the oldest first
  std::uint64_t total_bytes = 0;       // of all of them, each file once
};

// Measures the transactions in a state directory, those of one workspace (a real path), or all for
// "". Looks at each file, so that it takes as long as they have files. What is removed meanwhile
// does not count. The errors of ListTransactions. Any thread; blocks as the file system does.
Result<SpaceReport> MeasureTransactions(const std::string& state, const std::string& workspace);

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/file_systems.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/transaction_record.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/commit/commit.h"
#include "workspace/transaction/checkpoints.h"

namespace native_runner {

// Where a transaction lies on disk, below the state directory that its user chose:
//
//   ID/          0700, so that nobody else reaches what is below
//     record     see transaction_record.h; written when all the rest is there
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

}  // namespace native_runner

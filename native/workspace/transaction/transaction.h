#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/transaction_record.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/changes/scan.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit.h"
#include "workspace/copy/copy_entry.h"
#include "workspace/files/workspace_files.h"
#include "workspace/transaction/copied_workspace.h"
#include "workspace/transaction/earlier_overlays.h"
#include "workspace/transaction/freshness.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// A workspace whose changes wait for somebody to say what becomes of them. Open, it holds the
// overlay that commands work on, until the first commit, or a copy, and its directory on disk;
// closed, that directory is left, or nothing where it was discarded. Whoever runs a command in it
// holds the overlay too.
//
// Any thread; calls wait for one another, and block for as long as the file system takes.
class Transaction {
 public:
  enum class Backend { kAuto, kOverlay, kCopy };
  struct Options {
    std::string launcher;   // absolute path of the executable
    std::string workspace;  // as the runner was given it
    std::string directory;  // the state directory, absolute
    Backend backend = Backend::kAuto;
    // Of a bwrap, absolute, that has to run in an overlay; empty: it is not asked whether it can.
    std::string bwrap;
    std::uint64_t most_bytes = 0;            // that a copy may have
    std::shared_ptr<CopyProgress> progress;  // of a copy; not null
  };

  // kUnavailable where the backend can't be had: of kAuto, neither an overlay nor a copy. Of a
  // copy, as CopyTree; kInvalidValue or kSetup for the directories.
  static Result<std::shared_ptr<Transaction>> Open(const Options& options);

  // Takes up one that its process has left, by closing it or by dying. What a death has left of a
  // commit is taken back, or completed; see `recovered`. kInvalidValue where there is none of this
  // name, or it is of another backend than is asked for; kSetup where another process has it open.
  static Result<std::shared_ptr<Transaction>> Resume(const Options& options, const std::string& id);

  // Of the commit that a death has interrupted, when this one was taken up.
  Recovered recovered() const { return recovered_; }

  const std::string& id() const { return directory_.record().id; }
  const std::string& backend() const { return directory_.record().backend; }

  // What was copied when it was opened; nullopt: nothing, or by another process.
  struct Copied {
    std::uint64_t files;
    std::uint64_t bytes;
  };
  const std::optional<Copied>& copied() const { return copied_; }

  // Why it is a copy where kAuto was asked for; else empty.
  const std::string& backend_reason() const { return backend_reason_; }

  // What commands work on: none once it was closed, nor while it is committed.
  std::shared_ptr<const CurrentWorkspace> workspace() const { return fresh_->current(); }

  // Before something is begun in it: whether `Freshen` has to come first, so that the host's files
  // are seen as they are (freshness.h). Waits for nobody.
  bool IsStale() const { return fresh_->IsStale(); }
  // Mounts the overlay anew, too, where that has failed before. kClosed once it was closed.
  std::optional<Error> Freshen();

  // The files that commands see, for the host's own tools: a kSandbox with kClosed once it was
  // closed. Any thread.
  OpenWorkspaceRoot Files() const;

  // Notes what the host has where something was changed since the last look (baselines.h).
  // Conflicts are told the better the sooner it is called after a command; never must it be. It is
  // done before changes are told. kClosed once it was closed.
  std::optional<Error> Look();

  // What commands have changed so far. kClosed once it was closed.
  Result<std::vector<Change>> Changes(const PathFilter& paths);
  // The same as a patch (patch.h).
  Result<std::string> Diff(const PathFilter& paths, std::uint64_t most);

  // How a commit came out: nothing of the host's is changed but where `is_done`.
  struct CommitResult {
    bool is_done = false;
    // Where it is done, with renames told as such; each side by itself otherwise, and below.
    std::vector<Change> committed;
    std::vector<std::string> digests;  // of `committed`, as MakeDigests gives them
    std::vector<Change> left;
    std::vector<Change> conflicts;        // because of which nothing was done
    std::vector<Change> refused;          // because they are protected, nothing was done
    std::vector<std::string> unexpected;  // because they are not what was seen, nothing was done

    bool CanBeDone() const { return conflicts.empty() && refused.empty() && unexpected.empty(); }
  };

  // What a commit would do: nothing is, and commands may go on.
  Result<CommitResult> Check(const CommitRequest& request);

  // Brings changes to the host, all of the chosen or none (choose.h, commit.h). What runs in it
  // must have been ended: an overlay is unmounted meanwhile, and mounted anew at the end. Waits
  // for who still has it. kClosed once it was closed; kSetup, with nothing changed, where that
  // fails.
  Result<CommitResult> Commit(const CommitRequest& request);

  // Takes the last commit back: its changes are the transaction's again. Gives the paths because of
  // which it can't, since the host has changed them. kSetup where there is none, or it fails.
  Result<std::vector<std::string>> Undo();

  // Keeps what commands have changed so far as a checkpoint (checkpoints.h). Nothing should write
  // to it meanwhile. kClosed once it was closed.
  Result<CheckpointRecord> Checkpoint(const std::string& name);
  // The first first.
  Result<std::vector<CheckpointRecord>> Checkpoints();

  // Makes the changes those of a checkpoint (checkpoints.h), and the overlay anew, or puts another
  // tree in the place of the copy. What runs in it must have been ended. kInvalidValue where there
  // is none of this id any more.
  std::optional<Error> RollBack(const std::string& id);

  // Keeps what is on disk. Nothing for one that is closed.
  void Close();

  // Closes it, and removes all there is of it on disk. Nothing may run in it any more.
  std::optional<Error> Discard();

 private:
  struct Trees {
    ScannedTree upper;
    ScannedTree lower;
  };
  static Error WasClosed();
  Result<Trees> OpenTrees() const;
  Result<CommitResult> Choose(const Trees& trees, const CommitRequest& request);
  static Result<std::shared_ptr<Transaction>> OpenOverlay(const Options& options,
                                                          const Workspace& workspace);
  static Result<std::shared_ptr<Transaction>> OpenCopy(const Options& options,
                                                       const Workspace& workspace);
  std::optional<Error> TakeUp();
  std::optional<Error> RecoverHost();
  std::optional<Error> TakeMounted();
  std::optional<Error> Mount();
  std::optional<Error> Keep(const Workspace& workspace);
  std::optional<Error> WaitForEnds();
  std::optional<Error> Unmount();
  void LeaveOverlay();
  Result<CommitResult> CommitEnded(const Trees& trees, const CommitRequest& request);
  std::optional<Error> KeepHidden(const Trees& trees, const CommitResult& chosen);
  std::optional<Error> Prepare(const Trees& trees, const std::vector<Change>& changes,
                               std::vector<std::string>* digests);
  std::optional<Error> Refresh(const CommitEnd& end, const Trees& trees);
  std::optional<Error> LookAt(const Trees& trees);
  Result<std::vector<Change>> ScanAll(const Trees& trees);
  Result<std::vector<Change>> Scan(const Trees& trees, const PathFilter& paths);

  Transaction(TransactionDirectory directory, std::string launcher,
              std::shared_ptr<const MountedWorkspace> workspace = nullptr)
      : directory_(std::move(directory)),
        fresh_(std::make_shared<Freshness>(std::move(launcher))),
        workspace_(std::move(workspace)),
        ledger_(directory_.LoadLedger()) {
    fresh_->current()->Set(workspace_);
  }

  std::mutex mutex_;
  TransactionDirectory directory_;
  const std::shared_ptr<Freshness> fresh_;
  std::shared_ptr<const MountedWorkspace> workspace_;
  std::optional<CopiedWorkspace> copy_;  // nullopt: an overlay
  EarlierOverlays earlier_;
  std::string backend_reason_;
  std::optional<Copied> copied_;
  std::uint64_t opened_ns_ = 0;  // since 1970: later than all that the host has changed before
  Ledger ledger_;
  Differences differences_;  // of the last scan
  bool is_kept_ = true;      // the ledger, as it is, on disk
  bool is_closed_ = false;
  Recovered recovered_ = Recovered::kNothing;
};

}  // namespace native_runner

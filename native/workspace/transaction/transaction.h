#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"
#include "supervise/os/descriptor.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/changes/scan.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit.h"
#include "workspace/copy/tree_copier.h"
#include "workspace/files/workspace_files.h"
#include "workspace/transaction/copied_workspace.h"
#include "workspace/transaction/freshness.h"
#include "workspace/transaction/merge.h"
#include "workspace/transaction/merge_base.h"
#include "workspace/transaction/transaction_directory.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// The overlays that a transaction has unmounted. One lives on as long as a process anywhere has
// something of it: a command may have passed a descriptor on (SCM_RIGHTS), even of a directory or
// with O_PATH, which leads to files of the upper directory wherever these are moved. So none of
// them may become the host's file until all earlier overlays are gone. The kernel says so by
// IN_UNMOUNT (inotify(7)).
//
// `transaction`: its directory, open for reading. Its file `unmounted` says that no overlay was
// left when it was closed; without that file, as after a death, nothing is known for good. One
// owner, any thread.
class EarlierOverlays {
 public:
  // To be called before the first overlay of a transaction that another process has had.
  void Resume(int transaction);

  // To be called before an overlay is unmounted; `root` may be O_PATH.
  void Add(int root);

  // Returns true unless all are known to be gone. Never waits.
  bool MayHaveSome() const { return is_unknown_ || !queues_.empty(); }

  // Returns true if all are gone. Waits for that, half a second at most.
  bool AreGone();

  // To be called when the transaction is closed.
  void Close(int transaction);

 private:
  std::vector<Descriptor> queues_;  // of inotify, with the root of one overlay each
  bool is_unknown_ = false;
};

// A workspace whose changes wait to be committed or discarded. An open transaction has the overlay
// or the copy that commands work on, and a directory on disk. A closed one has only the directory,
// and a discarded one nothing. Each run in it shares the overlay.
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
    // Absolute path of a bwrap that has to run in an overlay; empty: it is not checked.
    std::string bwrap;
    std::uint64_t most_bytes = 0;            // of a copy
    std::shared_ptr<CopyProgress> progress;  // of a copy; not null
    // Shown to its commands; `directory` is here a name, of a directory that the transaction keeps.
    std::vector<CacheOverlay> caches;
  };

  // kUnavailable if the backend is not available; for kAuto, if neither is. The errors of CopyTree
  // for a copy; kInvalidValue or kSetup for the directories.
  static Result<std::shared_ptr<Transaction>> Open(const Options& options);

  // Resumes a transaction that its process has closed, or has left by dying. Takes back or
  // completes a commit that a death has interrupted, see `recovered`. kInvalidValue if none has
  // this name, or its backend is another; kSetup if another process has it open.
  static Result<std::shared_ptr<Transaction>> Resume(const Options& options, const std::string& id);

  // The recovery of an interrupted commit when this transaction was resumed.
  Recovered recovered() const { return recovered_; }

  const std::string& id() const { return directory_.record().id; }
  // The transaction that it was forked from; "": none.
  const std::string& parent() const { return directory_.record().parent; }
  const std::string& backend() const { return directory_.record().backend; }

  // The size of the copy that was made by Open; nullopt if none was.
  struct Copied {
    std::uint64_t files;
    std::uint64_t bytes;
  };
  const std::optional<Copied>& copied() const { return copied_; }

  // The reason why kAuto has chosen a copy; otherwise empty.
  const std::string& backend_reason() const { return backend_reason_; }

  // The mount that commands work on: none after it was closed, and during a commit.
  std::shared_ptr<const CurrentWorkspace> workspace() const { return fresh_->current(); }

  // True if `Freshen` must be called before a run, so that it sees the host's files as they are
  // (freshness.h). Never waits.
  bool IsStale() const { return fresh_->IsStale(); }
  // Also mounts the overlay anew if that has failed before. kClosed after it was closed.
  std::optional<Error> Freshen();

  // The files that commands see, for the host's own tools: a kSandbox with kClosed after it was
  // closed. Any thread.
  OpenWorkspaceRoot Files() const;

  // Notes the host's files at paths that were changed since the last look (baselines.h). A call
  // soon after a command avoids false conflicts, but is never needed: reports of changes do the
  // same first. kClosed after it was closed.
  std::optional<Error> Look();

  // Returns the changes of all commands so far. `has_versions`: their VersionOf tells each state
  // from all later ones. kClosed after it was closed.
  Result<std::vector<Change>> Changes(const PathFilter& paths, bool has_versions = false);
  // Returns them as a patch (patch.h).
  Result<std::string> Diff(const PathFilter& paths, std::uint64_t most);

  // The result of a commit. The host's files are unchanged unless `is_done`.
  struct CommitResult {
    bool is_done = false;
    // With kRenamed if it is done; otherwise, and in the other vectors, each side by itself.
    std::vector<Change> committed;
    std::vector<std::string> digests;  // of `committed`, see MakeDigests
    std::vector<Change> left;
    // Any of these prevents the commit.
    std::vector<Change> conflicts;
    std::vector<Change> refused;          // protected, and not allowed
    std::vector<std::string> unexpected;  // differ from what was seen

    bool CanBeDone() const { return conflicts.empty() && refused.empty() && unexpected.empty(); }
  };

  // Returns the result that a commit would have. Changes nothing; commands may go on.
  Result<CommitResult> Check(const CommitRequest& request);

  // Returns what the conflicts of a commit need so that it can be done: for each of them a step
  // (kMerge or kConflict) in which the host is `theirs`, and the base is what the host had when the
  // transaction first changed the path. Changes nothing; commands may go on. kClosed after it was
  // closed.
  Result<MergePlan> PlanCommitMerge(const CommitRequest& request);

  // Brings all chosen changes to the host, or none (choose.h, commit.h). All runs must have been
  // ended: an overlay is unmounted meanwhile, and mounted anew at the end. Waits until no run
  // shares it. kClosed after it was closed; kSetup, with nothing changed, on failure.
  //
  // `merged`: what was planned last, decided; it becomes the transaction's first, also where the
  // commit fails after that. What has changed since it was planned is a conflict.
  Result<CommitResult> Commit(const CommitRequest& request,
                              const std::vector<MergeRequest::File>& merged = {});

  // Takes the last commit back: its changes are the transaction's again. Returns the paths that the
  // host has changed, which prevent it. kSetup if no commit exists, or on failure.
  Result<std::vector<std::string>> Undo();

  // Keeps the changes so far as a checkpoint (checkpoints.h). Nothing should write to them
  // meanwhile. kClosed after it was closed.
  Result<CheckpointRecord> Checkpoint(const std::string& name);
  // From the oldest to the newest.
  Result<std::vector<CheckpointRecord>> Checkpoints();

  // Makes the changes those of a checkpoint (checkpoints.h), and forgets what was merged since:
  // mounts the overlay anew, or replaces the tree of the copy. All runs must have been ended.
  // kInvalidValue if no checkpoint has this id any more.
  std::optional<Error> RollBack(const std::string& id);

  // Makes a transaction that begins as this one is now, in the same state directory, closed; its
  // id. Commands may go on: what they are in the midst of is as after a crash. The home, the caches
  // and the checkpoints go along. Nothing is left of one that fails. kClosed after it was closed;
  // kSetup where the file system refuses.
  Result<std::string> Fork();

  // Returns what this transaction has otherwise than another one of the same workspace, in the
  // order of the paths' bytes. Commands may go on in both. kInvalidValue for another workspace, or
  // the transaction itself.
  Result<std::vector<Change>> ChangesSince(Transaction& other, const PathFilter& paths);
  Result<std::string> DiffSince(Transaction& other, const PathFilter& paths, std::uint64_t most);

  // Returns what this transaction has changed since it and the other one parted, or were merged
  // into each other: against the merge base, and where that does not tell, the host's files. As
  // ChangesSince.
  Result<std::vector<Change>> ChangesSinceFork(Transaction& other, const PathFilter& paths);
  Result<std::string> DiffSinceFork(Transaction& other, const PathFilter& paths,
                                    std::uint64_t most);

  // Returns what is to be done so that this transaction has the other's changes too (merge.h).
  // Changes nothing; commands may go on. As ChangesSince.
  Result<MergePlan> PlanMerge(Transaction& other, const PathFilter& paths, bool takes_all);

  // Does what was planned last, all or nothing; what a death interrupts is done, or has not begun,
  // when the transaction is resumed. All runs of this transaction must have been ended. What the
  // other one had changed when that was planned is no change of its own for the next merge.
  std::optional<Error> Merge(Transaction& other, const MergeRequest& request);

  // Removes the files that the last merge or rollback has replaced. Other calls go on meanwhile,
  // but merges and rollbacks wait. If it is not called, the next of those does it.
  void Sweep();

  // Makes what only reports, and the look before a commit or a checkpoint, fail with kClosed soon.
  // Any thread; waits for nothing. For good: the transaction can only be closed or discarded then.
  void Stop() {
    is_stopped_ = true;
    fresh_->Stop();
  }

  // Stops it, and keeps the directory on disk. Does nothing if it is closed.
  void Close();

  // Closes it, and removes its directory. All runs must have been ended.
  std::optional<Error> Discard();

 private:
  struct Trees {
    ScannedTree upper;
    ScannedTree lower;
  };
  static Error WasClosed();
  std::optional<Error> FillFork(TransactionDirectory& fork, const Trees& trees);
  Result<KeptPaths::About> AboutNow(const PathFilter& paths) const;
  Result<bool> ForgetMergesSince(const std::string& checkpoint) const;
  Result<std::optional<CheckpointRecord>> FindCheckpoint(const std::string& id) const;
  std::optional<Error> KeepAsBase(const std::string& checkpoint);
  std::optional<Error> CheckOther(const Transaction& other) const;
  Result<MergeSide> Seen();
  Result<MergeSide> SideOf(const Trees& trees);
  // With both locks held.
  struct Both {
    ScannedTree host;
    MergeSide ours;
    MergeSide theirs;
  };
  Result<Both> LookAtBoth(Transaction& other);
  Result<std::vector<Change>> CompareSides(const MergeSide& own, const MergeSide& others,
                                           const PathFilter& paths);
  Result<MergeBase> BaseWith(const Transaction& other) const;
  std::optional<Error> Settle(const MergeToSettle& merged, int from) const;
  void SettleLeft();
  std::optional<Error> KeepReplacedBy(Journal::Kind kind, const std::vector<std::string>& paths,
                                      const ScannedTree& host) const;
  Result<std::set<std::string>> ReplacedSinceCopied() const;
  void TidyReplacedOf(bool without_own) const;
  template <typename Value>
  Result<Value> SinceFork(
      Transaction& other, const PathFilter& paths,
      const std::function<Result<Value>(const ScannedTree& own, const ScannedTree& parted,
                                        const std::vector<Change>& changes)>& use);
  void TakeBaselines(const Ledger& others, const ScannedTree& host,
                     const std::vector<std::string>& paths, Ledger* ledger) const;
  class BaseTexts;
  // Of a path of PlanCommitMerge, as it was then.
  struct PlannedMerge {
    HostFile ours;
    HostFile host;
    std::optional<std::uint64_t> contents;  // of the host's file
  };
  MergeStep JudgeConflict(const Change& change, const Trees& trees, BaseTexts* bases);
  Result<std::vector<std::string>> NoMorePlanned(
      const Trees& trees, const std::vector<MergeRequest::File>& files) const;
  Result<std::vector<std::string>> TakeMerged(const Trees& trees,
                                              const std::vector<MergeRequest::File>& files);
  Result<CommitResult> CommitMerged(const Trees& trees, const CommitRequest& request,
                                    const std::vector<MergeRequest::File>& merged);
  void KeepNewTexts(const Trees& trees, std::uint64_t since_ns) const;
  void KeepForCopies(const Trees& trees, const std::vector<std::string>& paths) const;
  void KeepBeforeCommit(const Trees& trees, const std::vector<Change>& changes) const;
  std::optional<Error> KeepBeforeUndo(const Trees& trees) const;
  void TidyMerges() const;
  void LeaveToSweep();
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

  std::atomic<bool> is_stopped_ = false;
  std::mutex sweep_mutex_;  // taken before mutex_
  Descriptor replaced_;     // the directory in which files are to be swept; invalid: none
  std::mutex mutex_;
  TransactionDirectory directory_;
  std::vector<CacheOverlay> caches_;
  const std::shared_ptr<Freshness> fresh_;
  std::shared_ptr<const MountedWorkspace> workspace_;
  std::optional<CopiedWorkspace> copy_;  // nullopt: an overlay
  EarlierOverlays earlier_;
  std::string backend_reason_;
  std::optional<Copied> copied_;
  std::uint64_t opened_ns_ = 0;  // since 1970; later than all earlier changes of the host
  Ledger ledger_;
  Differences differences_;  // of the last scan
  std::map<std::string, PlannedMerge, std::less<>> planned_;
  bool is_kept_ = true;  // the ledger, as it is, on disk
  bool is_closed_ = false;
  Recovered recovered_ = Recovered::kNothing;
};

}  // namespace native_runner

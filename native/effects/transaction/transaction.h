#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "effects/commit/choose.h"
#include "effects/commit/commit.h"
#include "effects/files/workspace_files.h"
#include "effects/transaction/transaction_directory.h"
#include "policy/changes/change.h"
#include "policy/changes/path_filter.h"
#include "policy/result.h"
#include "policy/transaction/ledger.h"
#include "supervise/transaction/kept_workspace.h"

namespace native_runner {

// A workspace whose changes wait for somebody to say what becomes of them. Open, it holds the
// overlay that commands work on, until the first commit, and its directory on disk; closed, that
// directory is left, or nothing where it was discarded. Whoever runs a command in it holds the
// overlay too.
//
// Any thread; calls wait for one another, and block for as long as the file system takes.
class Transaction {
 public:
  struct Options {
    std::string launcher;   // absolute path of the executable
    std::string workspace;  // as the runner was given it
    std::string directory;  // the state directory, absolute
  };

  // kUnavailable where no overlay can be had; kInvalidValue or kSetup for the directories.
  static Result<std::shared_ptr<Transaction>> Open(const Options& options);

  // Takes up one that its process has left, by closing it or by dying. What a death has left of a
  // commit is taken back, or completed; see `recovered`. kInvalidValue where there is none of this
  // name, kSetup where another process has it open.
  static Result<std::shared_ptr<Transaction>> Resume(const Options& options, const std::string& id);

  // Of the commit that a death has interrupted, when this one was taken up.
  Recovered recovered() const { return recovered_; }

  const std::string& id() const { return directory_.record().id; }

  // What commands work on; expired once it was closed and nothing runs in it any more.
  std::weak_ptr<const KeptWorkspace> workspace() const { return entered_; }

  // The files that commands see, for the host's own tools: a kSandbox with kClosed once it was
  // closed. Any thread.
  OpenWorkspaceRoot Files() const;

  // Notes what the host has where something was changed since the last look (note_baselines.h).
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
    std::vector<Change> left;
    std::vector<Change> conflicts;  // because of which nothing was done
    std::vector<Change> refused;    // because they are protected, nothing was done
  };

  // What a commit would do: nothing is, and commands may go on.
  Result<CommitResult> Check(const CommitRequest& request);

  // Brings changes to the host, all of the chosen or none (choose.h, commit.h). What runs in it
  // must have been ended: the overlay is unmounted, and nothing can be run in it any more. Waits
  // for who still has it. kClosed once it was closed; kSetup, with nothing changed, where that
  // fails.
  Result<CommitResult> Commit(const CommitRequest& request);

  // Takes the last commit back: its changes are the transaction's again. Gives the paths because of
  // which it can't, since the host has changed them. kSetup where there is none, or it fails.
  Result<std::vector<std::string>> Undo();

  // Keeps what is on disk. Nothing for one that is closed.
  void Close();

  // Closes it, and removes all there is of it on disk. Nothing may run in it any more.
  std::optional<Error> Discard();

 private:
  struct Trees {
    ScannedTree upper;
    ScannedTree lower;
  };
  Result<Trees> OpenTrees() const;
  Result<CommitResult> Choose(const Trees& trees, const CommitRequest& request);
  std::optional<Error> TakeUp(const std::string& launcher, const Workspace& workspace);
  std::optional<Error> RecoverHost();
  std::optional<Error> Unmount();
  std::optional<Error> Refresh(const CommitEnd& end, const Trees& trees);
  std::optional<Error> LookAt(const Trees& trees);
  Result<std::vector<Change>> Scan(const Trees& trees, const PathFilter& paths);

  Transaction(TransactionDirectory directory, std::shared_ptr<const KeptWorkspace> workspace,
              std::uint64_t opened_ns)
      : directory_(std::move(directory)),
        workspace_(std::move(workspace)),
        entered_(workspace_),
        opened_ns_(opened_ns),
        ledger_(directory_.LoadLedger()) {}

  std::mutex mutex_;
  TransactionDirectory directory_;
  std::shared_ptr<const KeptWorkspace> workspace_;
  std::weak_ptr<const KeptWorkspace> entered_;  // set before others see this: no lock is needed
  std::uint64_t opened_ns_;  // since 1970: later than all that the host has changed before
  Ledger ledger_;
  bool is_kept_ = true;  // the ledger, as it is, on disk
  bool is_closed_ = false;
  Recovered recovered_ = Recovered::kNothing;
};

}  // namespace native_runner

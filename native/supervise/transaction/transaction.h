#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "policy/changes/change.h"
#include "policy/changes/path_filter.h"
#include "policy/result.h"
#include "supervise/changes/tree.h"
#include "supervise/transaction/kept_workspace.h"
#include "supervise/transaction/transaction_directory.h"

namespace native_runner {

// A workspace whose changes wait for somebody to say what becomes of them. Open, it holds the
// overlay that commands work on, and its directory on disk; closed, that directory is left, or
// nothing where it was discarded. Whoever runs a command in it holds the overlay too.
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

  const std::string& id() const { return directory_.record().id; }

  // What commands work on; expired once it was closed and nothing runs in it any more.
  std::weak_ptr<const KeptWorkspace> workspace();

  // What commands have changed so far. kClosed once it was closed.
  Result<std::vector<Change>> Changes(const PathFilter& paths);
  // The same as a patch (patch.h).
  Result<std::string> Diff(const PathFilter& paths, std::uint64_t most);

  // Keeps what is on disk. Nothing for one that is closed.
  void Close();

  // Closes it, and removes all there is of it on disk. Nothing may run in it any more.
  std::optional<Error> Discard();

 private:
  struct Trees {
    Tree upper;
    Tree lower;
  };
  Result<Trees> OpenTrees() const;
  Result<std::vector<Change>> Scan(const Trees& trees, const PathFilter& paths) const;

  Transaction(TransactionDirectory directory, std::shared_ptr<const KeptWorkspace> workspace,
              std::uint64_t opened_ns)
      : directory_(std::move(directory)), workspace_(std::move(workspace)), opened_ns_(opened_ns) {}

  std::mutex mutex_;
  TransactionDirectory directory_;
  std::shared_ptr<const KeptWorkspace> workspace_;
  std::uint64_t opened_ns_;  // since 1970: later than all that the host has changed before
};

}  // namespace native_runner

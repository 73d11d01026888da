#pragma once

#include <optional>
#include <string>

#include "effects/commit/sites.h"
#include "policy/result.h"
#include "policy/transaction/journal.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// The directory `commit` of a transaction (commit.h), open. One owner, any thread.
class CommitDirectory {
 public:
  // What is to be done, and what of it could not be taken back.
  static constexpr const char* kPlan = "plan";
  static constexpr const char* kTorn = "torn";
  // What of the plan a death has left begun.
  static constexpr const char* kBegun = "begun";
  // What was done, with its files as they were then.
  static constexpr const char* kDone = "done";

  // An empty one, in the place of any that was there; durable. `is_apart`: its place aside is where
  // `host` is, which is another file system or may be one (aside_directory.h).
  static Result<CommitDirectory> Make(int transaction, int host, bool is_apart);
  // nullopt: there is none.
  static Result<std::optional<CommitDirectory>> Open(int transaction);
  static std::optional<Error> Remove(int transaction);

  // Of the host's directory and the upper one, and the place aside.
  Result<Sites> OpenSites(int host, int upper) const;

  // A journal by its name; nullopt: there is none.
  Result<std::optional<Journal>> Read(const char* name) const;
  // kSetup where it can't be told: who takes that for "no" throws away what the host's files were.
  Result<bool> Holds(const char* name) const;
  // Durable when it returns.
  std::optional<Error> Write(const char* name, const Journal& journal) const;
  std::optional<Error> Rename(const char* name, const char* to) const;
  std::optional<Error> Drop(const char* name) const;

  // What was made aside is on disk when it returns.
  static std::optional<Error> FlushAside(const Sites& sites);

 private:
  explicit CommitDirectory(Descriptor directory) : directory_(std::move(directory)) {}

  Descriptor directory_;
};

}  // namespace native_runner

#pragma once

#include <array>
#include <optional>
#include <string>

#include "policy/result.h"
#include "policy/transaction/file_systems.h"
#include "policy/transaction/journal.h"
#include "supervise/os/descriptor.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// The trees of a commit, open. What is renamed goes from one to another of the same file system,
// reached through one mount: host and aside, and all but those where there is a place kept; else
// all three. Any thread, one at a time.
struct Sites {
  ScannedTree host;
  ScannedTree upper;  // opens what its modes shut: it is ours
  ScannedTree backup;
  std::optional<ScannedTree> kept;  // where host and upper are on two file systems
  bool is_exposed = false;          // `aside` is in the workspace, where commands may reach it

  const ScannedTree& Of(Site site) const {
    if (site == Site::kHost) return host;
    if (site == Site::kUpper) return upper;
    return site == Site::kUpperBackup && kept ? *kept : backup;
  }

  // What is there now; nullopt: nothing, or no directory that it could be in.
  Result<std::optional<Node>> Look(const SitePath& place) const;
};

// What is where, asked for one path after the other: the last directory of each site stays open,
// for those asked for on end lie together. What is told is of one moment or another. One thread.
class SitesView {
 public:
  explicit SitesView(const Sites& sites) : sites_(sites) {}

  // The directory that a path is in; nullptr: there is none. Until the next call for the same site.
  Result<const ScannedDirectory*> ParentOf(const SitePath& place);

  // As Sites::Look.
  Result<std::optional<Node>> Look(const SitePath& place);

 private:
  struct Held {
    std::string path;
    std::optional<ScannedDirectory> directory;
  };

  const Sites& sites_;
  std::array<std::optional<Held>, kSites> held_;  // by site
};

// A path as the workspace's user knows it, for messages.
std::string Shown(const SitePath& place);

// Whether two descriptors are of directories between which files can be renamed: of one file
// system, and reached through one mount. Else a commit needs a place aside.
bool CanRename(int one, int other);

// The place aside of a commit whose transaction lies on another file system (journal.h). The
// directory `commit` of the transaction names it, on disk before it is made and for as long as
// there may be anything of it. `commit`: open for reading.

// Makes one next to the workspace or, where that is another file system or nothing may be made
// there, directly in it; then with a .gitignore, so that git tells of nothing. 0700. `host`: the
// workspace. kSetup where there can be none.
Result<Descriptor> MakeBackupDirectory(int commit, int host);

// Open for reading; nullopt: the commit has none. kSetup, naming it, where it is not what was made.
Result<std::optional<Descriptor>> OpenBackupDirectory(int commit);

// With all that is in it; one that is there no more, or that somebody has put another in the place
// of, is passed over.
std::optional<Error> RemoveBackupDirectory(int commit);

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
  // `host` is, which is another file system or may be one (MakeBackupDirectory).
  static Result<CommitDirectory> Make(int transaction, int host, bool is_apart);
  // nullopt: there is none.
  // `host`: the workspace, whose journals are read with the device numbers of now; -1: only whether
  // they are there, and whole, is asked.
  static Result<std::optional<CommitDirectory>> Open(int transaction, int host = -1);
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
  static std::optional<Error> FlushBackup(const Sites& sites);

 private:
  CommitDirectory(Descriptor directory, int host);

  Descriptor directory_;
  FileSystemList file_systems_;  // that the journals' files are on
};

}  // namespace native_runner

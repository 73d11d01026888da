#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "policy/transaction/journal.h"
#include "supervise/os/descriptor.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// In a transaction's directory, as long as something is compared with a base: what that has, as a
// tree of files.
inline constexpr const char* kPartedTree = "parted";

// What trees had at some paths, at a moment: a list, and a file with the contents one behind the
// other. Movable, one owner, any thread.
class KeptPaths {
 public:
  struct Entry {
    std::uint32_t mode = 0;  // with the type; 0: nothing was there
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of a file's contents in the data
    bool has_contents = false;
    std::string target;  // of a symbolic link

    bool is_file() const { return (mode & 0170000U) == 0100000U; }
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  // Larger files are kept without their contents, and so are all once there is no more room.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 20U;

  struct About {
    std::uint64_t created_ns = 0;  // CLOCK_REALTIME
    std::string workspace;         // whose paths they are
    PathFilter scope;              // of other paths nothing is known
    // Ids of bases and checkpoints it has come from; of what an undo has replaced, of the
    // transaction that has undone its commit.
    std::vector<std::string> origins;
    std::uint64_t most_bytes = UINT64_MAX;  // of all contents; not kept
  };

  // Writes list and data into an empty directory that is open for reading. Contents come from
  // `tree`: one that is another by now, or gone, is kept as that, and one that can't be read
  // without contents. kSetup where the file system refuses.
  static std::optional<Error> Write(int directory, const About& about, const Entries& entries,
                                    const ScannedTree& tree);
  // nullopt: what is there is not whole.
  static Result<std::optional<KeptPaths>> Read(int directory);

  const About& about() const { return about_; }
  const Entries& entries() const { return entries_; }
  const Entry* Find(const std::string& path) const;

  // Whether a tree has at a spot, of this name in its directory, what the entry says.
  bool IsAt(const Entry& entry, const Spot& spot, const std::string& name) const;

  // Whether others, which were kept elsewhere, say the same. False where contents were not kept.
  bool IsSame(const Entry& entry, const KeptPaths& other, const Entry& others) const;

  // Whether a file that is open for reading has the contents of the entry, from `offset` on; false
  // where they were not kept, or can't be read.
  bool HasContents(const Entry& entry, int file, std::uint64_t offset = 0) const;
  // nullopt where they were not kept, or can't be read.
  std::optional<std::string> ContentsOf(const Entry& entry) const;

 private:
  About about_;
  Entries entries_;
  Descriptor data_;
};

// The merge bases of a transaction (gitglossary(7)): states that its own has come from. Each was
// that of some transaction when another one was forked from it, or when it was merged. Two have
// come from the same states where both have a base of the same id, or one has it and the other one
// a base that has come from it. What such a base tells nothing of was as on the host.
//
// A transaction that goes back to a checkpoint has that state as a base, by the checkpoint's id,
// where others have come from one of its later states: those have come from the checkpoint too.
//
//   bases/
//     TIME-ID/     what the transaction had changed; it was added at TIME (CLOCK_REALTIME, ns)
//       list data  hard links, which the others that have come from this state share
//       later-ID   of a checkpoint: the list of a later state, which was dropped here, so that it
//                  still counts as shared
//     new-NAME/    one that was being written
//     new-left-TIME-ID/  one that was dropped, until the state of the checkpoint is added
//
// What is missing makes more conflicts, never fewer. `directory`: a transaction's, open for
// reading; one thread at a time, with the locks of all transactions that are named.

// The ids of a transaction's bases and checkpoints: what its state has come from.
Result<std::vector<std::string>> OriginIds(int directory);

// Writes down what `tree` has at each change, for AddStagedBase, by a name of the caller's; and at
// `others`, paths at which a tree that has not changed them may differ from the host.
std::optional<Error> StageBase(int directory, const std::string& name,
                               const KeptPaths::About& about, const std::vector<Change>& changes,
                               const ScannedTree& tree, const std::set<std::string>& others = {});
// Adds what was staged last by this name, with an id that no other base has; does nothing where
// there is one of it. kSetup where nothing was staged.
std::optional<Error> AddStagedBase(int directory, const std::string& name, const std::string& id);
// The same of the state of a checkpoint that the transaction has gone back to, with its id and
// time.
std::optional<Error> AddStagedBase(int directory, const std::string& name,
                                   const CheckpointRecord& checkpoint);
// Returns true if one was staged whole by this name, and is not added.
bool IsBaseStaged(int directory, const std::string& name);
// Removes what was staged and not added. What can't be removed stays, and is never read.
void DropStagedBases(int directory);

// Gives another transaction the bases that it has not, or the one of this id. `keeps_times`: one of
// them was forked from the other one, and both go back to the same checkpoints; else they are added
// now.
std::optional<Error> ShareBases(int directory, int to, bool keeps_times,
                                const std::string& only = "");

// Drops those that were added since a checkpoint: the transaction goes back to it. True: some had
// come from it, and so have the others that have these; its state is to be added.
Result<bool> DropBasesSince(int directory, const CheckpointRecord& checkpoint);
// Returns true if DropBasesSince has dropped some, and the checkpoint's state is not added yet.
bool HasDroppedBases(int directory);
// Takes back what DropBasesSince has dropped: the transaction has not gone back.
void RestoreDroppedBases(int directory);
// Removes those that no other transaction has any more; the state of a checkpoint goes with the
// last later one. True: some are left.
bool TidyBases(int directory);

// What the host had where commits and undos have replaced something, for bases that tell nothing of
// a path:
//
//   replaced/        in the state directory
//     TIME-ID/       what was there before TIME: see KeptPaths
//     new-TIME-ID/   one that was being written
//
// Keeps what `host` has at these paths. `state` is open for reading. `undone_by`: the transaction
// that undoes its commit, and so has what is kept as its own changes again. kSetup where the file
// system refuses: a merge would take what is committed for unchanged.
std::optional<Error> KeepReplaced(int state, const std::string& workspace,
                                  const std::vector<std::string>& paths, const ScannedTree& host,
                                  const std::string& undone_by = "");
bool HasReplaced(int state);
// All paths at which commits and undos have replaced something.
Result<std::set<std::string>> ReplacedPaths(int state, const std::string& workspace);
// Removes what is older than all transactions of its workspace, and what deaths have left half
// written an hour ago or more. `oldest_ns`: when the oldest one was made; nullopt: there are not
// two.
void TidyReplaced(int state, const std::string& workspace, std::optional<std::uint64_t> oldest_ns);

// The third side of a merge of two transactions. Movable, one owner, any thread.
class MergeBase {
 public:
  // Reads the bases of both. Without any that both have come from there is nothing at all: the
  // host's files are in its place.
  static Result<MergeBase> Of(int one, int other, int state, const std::string& workspace);

  // What a state had at a path.
  struct Had {
    const KeptPaths* kept = nullptr;  // nullptr: as the host has it
    const KeptPaths::Entry* entry = nullptr;
    bool is_hosts = false;  // what the host had: no base tells of the path
  };
  struct Found : Had {
    std::vector<Had> rivals;  // what other states had there that are as late: none is the base
  };
  // By the base that has come from all the others; without one, as it was before all commits and
  // undos that are known. Where several are as late, by the one that has changed the path since
  // they parted. nullopt: as the host has it.
  std::optional<Found> Find(const std::string& path) const;
  // All paths at which there may be something else than on the host.
  void AddPaths(std::set<std::string>* paths) const;

 private:
  using Set = std::vector<bool>;  // of bases, by their places
  struct Base {
    std::string id;
    std::shared_ptr<const KeptPaths> kept;
    std::vector<PathFilter> scopes;  // of the paths where the other one has come from it
    Set origins = {};                // of those that it has come from
    bool Has(const std::string& path) const;
  };
  class Finder;
  Had HadBy(const Base* base, const std::string& path) const;

  std::vector<Base> bases_;          // the latest first
  std::vector<KeptPaths> replaced_;  // the first first
};

}  // namespace native_runner

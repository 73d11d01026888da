#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/git/git_paths.h"
#include "policy/result.h"
#include "policy/transaction/change.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// By path, what a file is to be on the host in place of what the transaction has, which keeps that.
using GivenContents = std::map<std::string, std::vector<std::uint8_t>, std::less<>>;

// What of a transaction's changes is to reach the host, by a caller's word.
struct CommitRequest {
  PathFilter paths;                          // these and all below them
  PathFilter allowed;                        // protected paths that may be changed all the same
  std::vector<std::string> protected_names;  // see IsProtected
  std::vector<std::string> homes;            // of the user, for git's configuration there
  GivenContents contents;
  // By path, the VersionOf each change that was seen. A change that is not among them, whatever its
  // type, is never made. nullopt: all changes are.
  std::optional<std::map<std::string, std::string, std::less<>>> expected;
};

// The changes by what becomes of them, each in the order of its paths.
struct ChosenChanges {
  std::vector<Change> chosen;
  std::vector<Change> left;
  // Paths that are not what was expected: chosen ones, and those expected that are no change now.
  std::vector<std::string> unexpected;
};

// Chooses. With a path goes each directory that has to be made for it. Left is what is asked not
// for, what is neither file, link nor directory, and a directory that would not be empty.
// `all`: in the order of their paths' bytes.
ChosenChanges ChooseChanges(const std::vector<Change>& all, const CommitRequest& request);

// Returns the chosen changes that are protected and not allowed: by their names, or by `git`, the
// paths that git executes or reads as configuration. `workspace`: its absolute path.
std::vector<Change> RefusedOf(const std::vector<Change>& chosen, const CommitRequest& request,
                              const std::string& workspace, const ProtectedPaths& git);

// Files of which a commit brings a part of the changes: contents that somebody has given, while the
// transaction keeps its own, as a change against these.

// Of the contents given, those that the transaction does not have itself. kInvalidValue where one
// is for a path that is no regular file among `chosen`.
Result<GivenContents> TakeParts(const ScannedTree& upper, const std::vector<Change>& chosen,
                                const GivenContents& given);

// The changes that are committed whole.
std::vector<Change> WithoutParts(const std::vector<Change>& chosen, const GivenContents& parts);

// Adds the others, in their places, with the size that they have on the host then; and makes
// `digests`, one for each change, of what was given.
void DescribeParts(const std::vector<Change>& chosen, const GivenContents& parts,
                   std::vector<Change>* committed, std::vector<std::string>* digests);

// Adds what is left of them, in their places.
void LeaveParts(const std::vector<Change>& chosen, const GivenContents& parts,
                std::vector<Change>* left);

}  // namespace native_runner

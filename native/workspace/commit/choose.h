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

// By path, contents for the host's file that differ from the transaction's, which keeps its own.
using GivenContents = std::map<std::string, std::vector<std::uint8_t>, std::less<>>;

// A caller's choice of the changes to commit.
struct CommitRequest {
  PathFilter paths;                          // these and all below them
  PathFilter allowed;                        // protected paths that may be changed nevertheless
  std::vector<std::string> protected_names;  // see IsProtected
  std::vector<std::string> homes;            // of the user, for git's configuration there
  GivenContents contents;
  // By path, the VersionOf each change that was seen. No other change is made, of whatever type.
  // nullopt: all changes are.
  std::optional<std::map<std::string, std::string, std::less<>>> expected;
};

// The changes grouped by result, each group in the order of its paths.
struct ChosenChanges {
  std::vector<Change> chosen;
  std::vector<Change> left;
  // Paths of chosen changes that differ from the expected ones, and expected paths without a
  // change.
  std::vector<std::string> unexpected;
};

// Chooses the requested changes, with each directory that has to be made for them. Leaves others,
// those of FIFOs, sockets and devices, and directories that would not be empty. `all`: in the order
// of their paths' bytes.
ChosenChanges ChooseChanges(const std::vector<Change>& all, const CommitRequest& request);

// Returns the chosen changes that are protected and not allowed: by their names, or by `git`, the
// paths that git executes or reads as configuration. `workspace`: its absolute path.
std::vector<Change> RefusedOf(const std::vector<Change>& chosen, const CommitRequest& request,
                              const std::string& workspace, const ProtectedPaths& git);

// Parts: files for which the caller gives contents. The transaction keeps its own contents, as a
// change against the given ones.

// Returns the given contents that differ from the transaction's. kInvalidValue if a path is no
// regular file among `chosen`.
Result<GivenContents> TakeParts(const ScannedTree& upper, const std::vector<Change>& chosen,
                                const GivenContents& given);

// Returns the changes that are committed whole.
std::vector<Change> WithoutParts(const std::vector<Change>& chosen, const GivenContents& parts);

// Adds the parts to `committed`, in their places, with the size of the given contents, and their
// digests to `digests`, which has one for each change.
void DescribeParts(const std::vector<Change>& chosen, const GivenContents& parts,
                   std::vector<Change>* committed, std::vector<std::string>* digests);

// Adds the parts to `left`, in their places, as changes against the given contents.
void LeaveParts(const std::vector<Change>& chosen, const GivenContents& parts,
                std::vector<Change>* left);

}  // namespace native_runner

#pragma once

#include <string>
#include <vector>

#include "policy/changes/change.h"
#include "policy/changes/path_filter.h"

namespace native_runner {

// What of a transaction's changes is to reach the host, by a caller's word.
struct CommitRequest {
  PathFilter paths;                          // these and all below them
  PathFilter allowed;                        // protected paths that may be changed all the same
  std::vector<std::string> protected_names;  // see IsProtected
};

// The changes by what becomes of them, each in the order of its paths.
struct ChosenChanges {
  std::vector<Change> chosen;
  std::vector<Change> left;
  std::vector<Change> refused;  // of `chosen`: protected, and not allowed
};

// Chooses. With a path goes each directory that has to be made for it. Left is what is asked not
// for, what is neither file, link nor directory, and a directory that would not be empty.
// `all`: in the order of their paths' bytes.
ChosenChanges ChooseChanges(const std::vector<Change>& all, const CommitRequest& request);

}  // namespace native_runner

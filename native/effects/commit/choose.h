#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/changes/change.h"
#include "policy/changes/path_filter.h"

namespace native_runner {

// By path, what a file is to be on the host in place of what the transaction has, which keeps that.
using GivenContents = std::map<std::string, std::vector<std::uint8_t>, std::less<>>;

// What of a transaction's changes is to reach the host, by a caller's word.
struct CommitRequest {
  PathFilter paths;                          // these and all below them
  PathFilter allowed;                        // protected paths that may be changed all the same
  std::vector<std::string> protected_names;  // see IsProtected
  GivenContents contents;
  // By path, the VersionOf that was seen: nothing else is committed. nullopt: whatever there is.
  std::optional<std::map<std::string, std::string, std::less<>>> expected;
};

// The changes by what becomes of them, each in the order of its paths.
struct ChosenChanges {
  std::vector<Change> chosen;
  std::vector<Change> left;
  std::vector<Change> refused;  // of `chosen`: protected, and not allowed
  // Paths that are not what was expected: chosen ones, and those expected that are no change now.
  std::vector<std::string> unexpected;
};

// Chooses. With a path goes each directory that has to be made for it. Left is what is asked not
// for, what is neither file, link nor directory, and a directory that would not be empty.
// `all`: in the order of their paths' bytes.
ChosenChanges ChooseChanges(const std::vector<Change>& all, const CommitRequest& request);

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// The changes as one text in git's format, which is UTF-8, and which `git apply` takes on `lower`.
// Directories, and what is neither file nor link, are not in it: git has no such. Of a file whose
// type is another, it is removed and made.
//
// kOutOfRange where the text would have more than `most` bytes; kSetup where a file can't be read,
// or is larger than 128 MiB. Reads each changed file into memory, one at a time.
Result<std::string> MakePatch(const ScannedTree& upper, const ScannedTree& lower,
                              const std::vector<Change>& changes, std::uint64_t most);

// The SHA-256 of what a tree has at each change, in the same order, for who wants to know later
// what was written; those that are there already stay. Empty for what is no regular file there or
// can't be read, and for what is more than kMostDigests files or kMostDigestBytes: nobody waits for
// gigabytes to be read once more. Any thread.
void MakeDigests(const ScannedTree& tree, const std::vector<Change>& changes,
                 std::vector<std::string>* digests);

// The SHA-256 of a regular file, whatever its size; empty if it is none, or can't be read.
std::string FileDigest(const ScannedDirectory& directory, const std::string& name);

inline constexpr std::size_t kMostDigests = 10'000;
inline constexpr std::uint64_t kMostDigestBytes = std::uint64_t{256} << 20U;

}  // namespace native_runner

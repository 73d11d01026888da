#pragma once

#include <string>
#include <vector>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"

namespace native_runner {

// The SHA-256 of what a tree has at each change, in the same order, for who wants to know later
// what was written; those that are there already stay. Empty for what is no regular file there or
// can't be read, and for what is more than kMostDigests files or kMostDigestBytes: nobody waits for
// gigabytes to be read once more. Any thread.
void MakeDigests(const ScannedTree& tree, const std::vector<Change>& changes,
                 std::vector<std::string>* digests);

inline constexpr std::size_t kMostDigests = 10'000;
inline constexpr std::uint64_t kMostDigestBytes = std::uint64_t{256} << 20U;

}  // namespace native_runner

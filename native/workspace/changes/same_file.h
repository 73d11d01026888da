#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/change.h"
#include "workspace/tree/scanned_tree.h"

namespace native_runner {

// Whether two files of this size, open for reading, have the same bytes. False also where one can't
// be read. Reads both as far as they are the same.
bool HaveSameBytes(int one, int other, std::uint64_t size);

// The same for files, open for reading, that have the same bytes; for others most often another,
// but not where somebody wants it to be the same. Nothing for one that can't be read.
std::optional<std::uint64_t> DigestOf(int file);

// Whether they have the same extended attributes of a user's (user.*), those apart in which
// overlayfs keeps its notes. False also where they can't be read.
bool HaveSameAttributes(int one, int other);

// Gives a file or directory those that another has; errno(3) where that fails.
bool CopyAttributes(int from, int to);

// Whether a file has this attribute, and with just this value where one is given. kSetup where that
// can't be read: it is not known then, which must not be taken for "no".
Result<bool> HasAttribute(int file, const char* name,
                          std::optional<std::string_view> value = std::nullopt);

// A name in two trees: what is there now, and what was there. Not both are nothing.
struct TwoNodes {
  std::optional<Node> now;
  std::optional<Node> before;
};

// What tells of it as a change; without a link's target.
Change ChangeOf(const std::string& path, const TwoNodes& nodes);

// Whether what is there is what was there, but for its times: of files contents and extended
// attributes are compared. False also where one can't be read.
bool AreSame(const TwoNodes& nodes, const std::string& name, const ScannedDirectory& now_in,
             const ScannedDirectory& before_in);

// Makes one change, kRenamed, of each file that is not there any more and one that is there anew
// with the same bytes: told at the new path, with `from`. Each file is one side of at most one such
// pair; of several that have the same bytes, one of the same name is taken before others, and then
// the first by its path's bytes. Files without a byte are no pair, nor is anything but files: for
// these, and directories, what went and what came is told by itself. A conflict of either side is
// one of the pair's.
//
// `changes`: in the order of their paths' bytes, and stays so. Files are read only where sizes are
// equal; one that can't be read is no side of a pair. Meant for a thread of its own.
void PairRenames(const ScannedTree& upper, const ScannedTree& lower, std::vector<Change>* changes);

}  // namespace native_runner

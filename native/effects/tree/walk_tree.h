#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "effects/tree/beneath.h"
#include "effects/tree/descent.h"
#include "effects/tree/file_stat.h"

namespace native_runner {

struct WalkRule {
  bool recursive = false;
  std::uint64_t most = 0;  // entries
};

// What is told of each entry: the directory that holds it, open; its name there and type as they
// were read (DT_UNKNOWN among them); and its path, relative to the workspace. The answer is its
// type, of which a directory is gone into; nullopt: it has gone meanwhile.
using VisitEntry = std::function<FileResult<std::optional<FileType>>(
    int directory, const NamedType& entry, const std::string& path)>;

// Tells of what a directory holds, in the order of the names' bytes, each directory's entries
// directly behind it. No link is followed. kTooMany when there are more than `most`, or their paths
// have more bytes together than as many of the usual longest (4,096) would. A directory that goes
// away meanwhile is as one that is empty. Refusals are of readdir's.
FileResult<Done> WalkTree(const Beneath& root, std::string_view relative, const WalkRule& rule,
                          const VisitEntry& visit);

}  // namespace native_runner

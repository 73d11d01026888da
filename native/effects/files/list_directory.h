#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "effects/tree/beneath.h"
#include "effects/tree/file_stat.h"

namespace native_runner {

struct ListedEntry {
  std::string path;  // relative to the workspace; any bytes but NUL
  FileType type = FileType::kOther;
};

struct ListRule {
  bool recursive = false;
  std::uint64_t most = 0;  // entries
};

// What a directory holds, in the order of the names' bytes, each directory's entries directly
// behind it. No link is followed. kTooMany when there are more than `most`, or their paths have
// more bytes together than as many of the usual longest (4,096) would. A directory that goes away
// meanwhile is as one that is empty.
FileResult<std::vector<ListedEntry>> ListDirectory(const Beneath& root, std::string_view relative,
                                                   const ListRule& rule);

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "effects/tree/beneath.h"
#include "effects/tree/file_stat.h"
#include "effects/tree/walk_tree.h"

namespace native_runner {

struct ListedEntry {
  std::string path;  // relative to the workspace; any bytes but NUL
  FileType type = FileType::kOther;
};

using ListRule = WalkRule;

// What a directory holds, as WalkTree tells of it.
FileResult<std::vector<ListedEntry>> ListDirectory(const Beneath& root, std::string_view relative,
                                                   const ListRule& rule);

}  // namespace native_runner

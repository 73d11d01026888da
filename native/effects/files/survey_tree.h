#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "effects/tree/walk_tree.h"

namespace native_runner {

// All that a directory holds with what tells each state of an entry from its others, packed for
// JavaScript, which would take a microsecond for each object and some eight for each lstat(2).
//
// For each entry its EntryState's numbers; and in the text its path, and of a symbolic link its
// target, each with a NUL byte after it. The first is the directory itself, whose path is ".".
struct Survey {
  std::string text;
  std::vector<std::uint64_t> numbers;
};

// As WalkTree, always with what is below. EILSEQ for a path or a target that is no UTF-8, which
// could not be told. Any thread.
FileResult<Survey> SurveyTree(const Beneath& root, std::uint64_t most);

}  // namespace native_runner

#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace native_runner {

// Lines [old_begin, old_end) of one text stand where the other has [new_begin, new_end).
struct LineChange {
  std::size_t old_begin = 0;
  std::size_t old_end = 0;
  std::size_t new_begin = 0;
  std::size_t new_end = 0;
};

// Each with its newline; the last one may have none.
std::vector<std::string_view> SplitLines(std::string_view text);

// What makes the one text the other, in order, none touching another. Never wrong, and most often
// short: lines that each text has once are matched first (patience diff), and what is between them
// by Myers' algorithm, "An O(ND) Difference Algorithm and Its Variations", as far as some hundred
// differences; what differs more is replaced whole. So time is bounded by some n log n.
std::vector<LineChange> DiffLines(std::span<const std::string_view> before,
                                  std::span<const std::string_view> after);

}  // namespace native_runner

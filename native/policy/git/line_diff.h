#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// Lines [old_begin, old_end) of the old text become [new_begin, new_end) of the new one.
struct LineChange {
  std::size_t old_begin = 0;
  std::size_t old_end = 0;
  std::size_t new_begin = 0;
  std::size_t new_end = 0;
};

// Returns the lines, each with its newline; the last may have none. They are parts of `text`, which
// must live as long as they do.
std::vector<std::string_view> SplitLines(std::string_view text);
void SplitLines(std::same_as<std::string> auto&& temporary) = delete;

// Returns the changes from `before` to `after`, in order, none adjacent to another. Always correct
// and usually short. Matches lines that each text has once first (patience diff), and the ranges
// between them by Myers' algorithm ("An O(ND) Difference Algorithm and Its Variations") up to some
// hundred differences; replaces a range with more differences whole. Time is bounded by about n log
// n.
std::vector<LineChange> DiffLines(std::span<const std::string_view> before,
                                  std::span<const std::string_view> after);

}  // namespace native_runner

#pragma once

#include <string_view>

namespace native_runner {

// Stands for a protected path that does not exist while commands run, on the host and in the
// sandbox: an empty directory, or a regular file with a text.
struct PlaceholderForm {
  bool is_file = false;
  std::string_view text;       // of a file; a literal
  bool may_be_filled = false;  // a directory in which commands may make entries, which then stay
};

// Returns the form for a protected path, by its last component: a file where programs read a file,
// with a text that says the same to them as a missing one. A directory for all other names.
PlaceholderForm PlaceholderFormOf(std::string_view path);

}  // namespace native_runner

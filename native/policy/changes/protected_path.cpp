#include "policy/changes/protected_path.h"

#include <algorithm>
#include <string>

namespace native_runner {
namespace {

char Lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool IsSame(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return Lower(a) == Lower(b); });
}

// Whether `path` is `parent`, or lies below it.
bool Covers(std::string_view parent, std::string_view path) {
  if (path.size() < parent.size() || !IsSame(parent, path.substr(0, parent.size()))) return false;
  return path.size() == parent.size() || path[parent.size()] == '/';
}

}  // namespace

bool IsProtected(std::string_view path, bool is_directory, const std::vector<std::string>& names) {
  for (;;) {
    const auto counts = [path, is_directory](const std::string& name) {
      return Covers(name, path) || (!is_directory && Covers(path, name));
    };
    if (std::any_of(names.begin(), names.end(), counts)) return true;
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace native_runner

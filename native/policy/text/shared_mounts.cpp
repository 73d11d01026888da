#include "policy/text/shared_mounts.h"

#include <algorithm>
#include <cstddef>

namespace native_runner {
namespace {

// Fields from this one on, up to "-", say what a mount has to do with others: there is none, or
// "unbindable". A path has no spaces in it, they are written as octal numbers.
constexpr int kFirstOptional = 6;

bool IsShared(std::string_view line) {
  for (int field = 0; !line.empty(); ++field) {
    const std::string_view text = line.substr(0, line.find(' '));
    if (field >= kFirstOptional && text == "-") return false;
    if (field >= kFirstOptional && text != "unbindable") return true;
    line.remove_prefix(std::min(text.size() + 1, line.size()));
  }
  return true;
}

}  // namespace

bool HasSharedMount(std::string_view table) {
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    if (IsShared(line)) return true;
    table.remove_prefix(std::min(line.size() + 1, table.size()));
  }
  return false;
}

}  // namespace native_runner

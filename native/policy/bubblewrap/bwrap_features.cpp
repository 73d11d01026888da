#include "policy/bubblewrap/bwrap_features.h"

#include <algorithm>
#include <cstddef>

namespace native_runner {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// The first word of a line; options that are only mentioned further right do not count.
std::string_view FirstWord(std::string_view line) {
  const std::size_t start = line.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return line.substr(start, std::min(line.find_first_of(kBlanks, start), line.size()) - start);
}

}  // namespace

BwrapFeatures ParseBwrapHelp(std::string_view help) {
  BwrapFeatures features;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view word = FirstWord(help.substr(0, end));
    features.bind_fd |= word == "--bind-fd";
    features.disable_userns |= word == "--disable-userns";
    features.as_pid_1 |= word == "--as-pid-1";
    features.size |= word == "--size";
    features.perms |= word == "--perms";
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return features;
}

}  // namespace native_runner

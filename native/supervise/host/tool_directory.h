#pragma once

#include <string>
#include <vector>

namespace native_runner {

// A link in a directory of programs, and what it needs.
struct ToolLink {
  // The link's own path and those that it leads to, step by step, lexically; the last is no link,
  // or there is nothing.
  std::vector<std::string> steps;
  // The interpreter that the last one names, if it is a script of a Python environment; or empty.
  std::string interpreter;
};

// The programs in a directory of PATH, as far as they need other paths.
struct ToolDirectory {
  std::vector<ToolLink> links;
  // The absolute interpreters of its scripts, each once.
  std::vector<std::string> interpreters;
};

// Reads a directory, and its scripts' first lines if `reads_scripts`. Nothing if it can't be read.
// Follows no link into `silent`, mount points that do not answer. Any thread.
ToolDirectory ReadToolDirectory(const std::string& path, bool reads_scripts,
                                const std::vector<std::string>& silent);

}  // namespace native_runner

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervise/os/descriptor.h"

namespace native_runner {

// Keeps git, on the host and in sandboxes, from listing and adding placeholders that are files: a
// block of lines in a repository's info/exclude (gitignore(5)). During a run that file is locked
// (F_OFD_SETLK), shared by all runs, of any process, that need it; the last run takes the block
// out. One that a killed process left behind goes with the next run's. All other lines stay. Any
// thread.
class GitExclude {
 public:
  // `parent`: the directory info, O_PATH; `names`: relative to the working tree. Returns nullopt,
  // and changes nothing, if there is no file that can be written.
  static std::optional<GitExclude> Add(int parent, const std::vector<std::string>& names);

  GitExclude(GitExclude&&) noexcept = default;
  GitExclude& operator=(GitExclude&&) = delete;
  GitExclude(const GitExclude&) = delete;
  GitExclude& operator=(const GitExclude&) = delete;
  ~GitExclude();

 private:
  GitExclude(Descriptor parent, Descriptor file)
      : parent_(std::move(parent)), file_(std::move(file)) {}

  Descriptor parent_;
  Descriptor file_;  // holds the lock; invalid once moved from
};

}  // namespace native_runner

#pragma once

#include <optional>
#include <string>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// An empty directory that stands in a project for a protected path that does not exist. Linux can
// mount only on what exists, and without a mount there a command could make it. While a run lasts
// the directory is locked (flock(2)), shared by all runs, of any process, that count on it; the
// last one removes it, as long as it is empty. One that a killed process left behind is known by
// its sticky bit, and is taken over by the next run. Any thread; the destructor removes.
class PlaceholderDirectory {
 public:
  // nullopt: something else has been made there meanwhile. `parent` is an O_PATH directory.
  static Result<std::optional<PlaceholderDirectory>> Take(int parent, const std::string& name);

  // Whether the entry is such a directory.
  static bool IsOne(int parent, const std::string& name);

  PlaceholderDirectory(PlaceholderDirectory&&) noexcept = default;
  PlaceholderDirectory& operator=(PlaceholderDirectory&&) = delete;
  PlaceholderDirectory(const PlaceholderDirectory&) = delete;
  PlaceholderDirectory& operator=(const PlaceholderDirectory&) = delete;
  ~PlaceholderDirectory();

 private:
  PlaceholderDirectory(Descriptor parent, Descriptor directory, std::string name)
      : parent_(std::move(parent)), directory_(std::move(directory)), name_(std::move(name)) {}

  Descriptor parent_;
  Descriptor directory_;  // holds the lock; not valid once moved from
  std::string name_;
};

}  // namespace native_runner

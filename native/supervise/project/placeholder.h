#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// What stands in a project for a protected path that does not exist. Linux can mount only on what
// exists, and without a mount there a command could make it. It is an empty directory, which git
// does not see, or, where git would trip over one, a file that tells git what it takes for granted.
// While a run lasts it is locked (flock(2)), shared by all runs, of any process, that count on it;
// the last one removes it, as long as nobody has put anything into it. One that a killed process
// left behind is known by its sticky bit, and is taken over by the next run. Any thread; the
// destructor removes, also where a command has made the directory above unwritable.
class Placeholder {
 public:
  struct Form {
    bool is_file = false;
    std::string_view text;  // of a file
  };

  // nullopt: something else has been made there meanwhile. `parent` is an O_PATH directory.
  static Result<std::optional<Placeholder>> Take(int parent, const std::string& name, Form form);

  // Whether the entry is one of this form.
  static bool IsOne(int parent, const std::string& name, Form form);

  Placeholder(Placeholder&&) noexcept = default;
  Placeholder& operator=(Placeholder&&) = delete;
  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;
  ~Placeholder();

 private:
  Placeholder(Descriptor parent, Descriptor entry, std::string name, Form form)
      : parent_(std::move(parent)), entry_(std::move(entry)), name_(std::move(name)), form_(form) {}

  Descriptor parent_;
  Descriptor entry_;  // holds the lock; not valid once moved from
  std::string name_;
  Form form_;
};

}  // namespace native_runner

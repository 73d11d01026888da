#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"

namespace native_runner {

// Some paths of a workspace, with all that is below each; or, made of none, every path.
class PathFilter {
 public:
  PathFilter() = default;

  // Of paths relative to the workspace; "." is all of it. kInvalidValue, naming `field`, for one
  // that is empty, absolute, or has a ".." or a NUL byte.
  static Result<PathFilter> Of(const std::vector<std::string>& paths,
                               std::string_view field = "paths");

  // The same without what is below.
  PathFilter Exactly() const;

  bool Has(std::string_view path) const;

 private:
  bool has_all_ = true;
  bool is_exact_ = false;
  std::set<std::string, std::less<>> paths_;  // normal; "" is the workspace
};

}  // namespace native_runner

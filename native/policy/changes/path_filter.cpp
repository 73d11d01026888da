#include "policy/changes/path_filter.h"

#include <algorithm>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/quote.h"

namespace native_runner {

Result<PathFilter> PathFilter::Of(const std::vector<std::string>& paths, std::string_view field) {
  PathFilter filter;
  filter.has_all_ = false;
  for (const std::string& path : paths) {
    if (path.empty() || path.starts_with('/') || HasParentComponent(path) ||
        path.find('\0') != std::string::npos) {
      return Error{ErrorCode::kInvalidValue,
                   "Expected `" + std::string(field) +
                       "` to be relative to the workspace, without \"..\" or NUL bytes, got " +
                       QuotedShort(path),
                   ""};
    }
    std::string normal = NormalPath("/" + path).substr(1);
    filter.has_all_ |= normal.empty();
    filter.paths_.push_back(std::move(normal));
  }
  return filter;
}

bool PathFilter::Has(std::string_view path) const {
  if (has_all_) return true;
  return std::any_of(paths_.begin(), paths_.end(), [path](const std::string& each) {
    return path.starts_with(each) && (path.size() == each.size() || path[each.size()] == '/');
  });
}

}  // namespace native_runner

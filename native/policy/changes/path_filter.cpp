#include "policy/changes/path_filter.h"

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
    filter.paths_.insert(std::move(normal));
  }
  return filter;
}

PathFilter PathFilter::Exactly() const {
  PathFilter exact = *this;
  exact.is_exact_ = true;
  exact.has_all_ = has_all_ && paths_.empty();
  return exact;
}

bool PathFilter::Has(std::string_view path) const {
  if (has_all_) return true;
  if (path == ".") path = "";
  if (paths_.find(path) != paths_.end()) return true;
  if (is_exact_) return false;
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    path = path.substr(0, slash);
    if (paths_.find(path) != paths_.end()) return true;
  }
  return false;
}

}  // namespace native_runner

#include "policy/transaction/change.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr int kBase = 16;

std::string Digits(std::uint64_t number) {
  std::array<char, 2 * sizeof(number)> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, kBase).ptr;
  return {digits.data(), end};
}

}  // namespace

std::string VersionOf(const Change& change) {
  if (change.mode == 0) return "gone";
  if (change.type == Change::Type::kDirectory) {
    return "directory-" + Digits(change.mode) + "-" + Digits(change.uid) + "-" + Digits(change.gid);
  }
  const std::string version = Digits(change.inode) + "-" + Digits(change.changed_ns);
  return change.digest.empty() ? version : version + "-" + change.digest;
}

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

std::vector<std::string> PathFilter::paths() const {
  if (has_all_) return {};
  return {paths_.begin(), paths_.end()};
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

namespace {

char Lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool IsSame(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return Lower(a) == Lower(b); });
}

// True if `path` is `parent` or lies below it.
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

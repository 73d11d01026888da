#include "workspace/commit/undo_plan.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervise/os/descriptor.h"
#include "workspace/changes/same_file.h"

namespace native_runner {
namespace {

constexpr const char* kOpaqueMark = "user.overlay.opaque";

class UndoPlanner {
 public:
  explicit UndoPlanner(const Sites& sites) : sites_(sites) {}

  Result<Journal> Plan(const Journal& done) {
    for (const Operation& operation : done.operations)
      takes_from_upper_ |= operation.from.site == Site::kUpper;
    for (const Operation& operation : done.operations)
      if (operation.kind == Operation::Kind::kMove && operation.from.site == Site::kHost) {
        restored_.insert(operation.from.path);
      }
    Journal undo;
    undo.kind = Journal::Kind::kUndo;
    for (auto operation = done.operations.rbegin(); operation != done.operations.rend();
         ++operation) {
      if (auto error = Add(InverseOf(*operation), &undo.operations)) return std::move(*error);
    }
    return undo;
  }

 private:
  std::optional<Error> Add(Operation inverse, std::vector<Operation>* operations) {
    const bool is_move = inverse.kind == Operation::Kind::kMove;
    if (is_move && inverse.to.site == Site::kUpper) {
      const auto has_newer = HasNewer(inverse.to.path);
      if (!has_newer) return has_newer.error();
      if (has_newer.value() && inverse.from.site != Site::kHost) return std::nullopt;
      if (has_newer.value()) inverse.to = Backup(Site::kBackup);
    }
    const bool restores_directory =
        is_move && inverse.to.site == Site::kHost && inverse.from_file.is_directory();
    if (restores_directory && takes_from_upper_) {
      if (auto error = Hide(inverse.to.path)) return error;
    }
    operations->push_back(inverse);
    const bool goes = is_move && inverse.from.site == Site::kHost;
    return goes ? DropWhiteout(inverse.from.path, operations) : std::nullopt;
  }

  // True if the upper directory has something of its own at a path, or above it hides what the host
  // has there.
  Result<bool> HasNewer(const std::string& path) {
    const auto [parent, name] = SplitPath(path);
    if (!parent_ || *parent_ != parent) {
      auto hides = Hides(parent);
      if (!hides) return hides;
      parent_ = parent;
      hides_ = hides.value();
    }
    if (hides_) return true;
    const auto now = sites_.Look({Site::kUpper, path});
    if (!now) return now.error();
    return now.value().has_value();
  }

  Result<bool> Hides(std::string_view directory) const {
    for (std::size_t end = 0; end < directory.size();) {
      end = std::min(directory.find('/', end + 1), directory.size());
      const std::string path(directory.substr(0, end));
      const auto now = sites_.Look({Site::kUpper, path});
      if (!now) return now.error();
      if (!now.value()) return false;
      if (!now.value()->is_directory()) return true;
      const auto opened = sites_.upper.Open(path);
      if (!opened) return opened.error();
      auto is_opaque = HasAttribute(opened.value().descriptor(), kOpaqueMark, "y");
      if (!is_opaque || is_opaque.value()) return is_opaque;
    }
    return false;
  }

  // A directory that commands have made where the commit had removed the host's is to show nothing
  // of that one. Until it is back, this changes nothing.
  std::optional<Error> Hide(const std::string& path) const {
    const auto there = sites_.upper.OpenIfThere(path);
    if (!there) return there.error();
    if (!there.value()) return std::nullopt;
    const auto directory = sites_.upper.OpenToChange(path);
    if (!directory) return directory.error();
    if (fsetxattr(directory.value().descriptor(), kOpaqueMark, "y", 1, 0) == 0) return std::nullopt;
    return SystemError("setxattr", errno);
  }

  // A whiteout of what was committed hides nothing any more: it would be a change if the host made
  // something there later.
  std::optional<Error> DropWhiteout(const std::string& path, std::vector<Operation>* operations) {
    if (restored_.contains(path)) return std::nullopt;
    const auto now = sites_.Look({Site::kUpper, path});
    if (!now) return now.error();
    if (!now.value() || !now.value()->is_whiteout()) return std::nullopt;
    const Site site = sites_.kept ? Site::kUpperBackup : Site::kBackup;  // of one file system
    operations->push_back(
        {Operation::Kind::kMove, {Site::kUpper, path}, Backup(site), *now.value(), {}});
    return std::nullopt;
  }

  SitePath Backup(Site site) { return {site, "undone-" + std::to_string(next_++)}; }

  const Sites& sites_;
  bool takes_from_upper_ = false;   // it is an overlay's, not a copy
  std::set<std::string> restored_;  // paths at which the host gets something back
  std::optional<std::string> parent_;
  bool hides_ = false;  // `parent_` does, or one above
  std::uint64_t next_ = 0;
};

}  // namespace

Result<Journal> PlanUndo(const Sites& sites, const Journal& done) {
  return UndoPlanner(sites).Plan(done);
}

}  // namespace native_runner

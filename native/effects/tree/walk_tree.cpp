#include "effects/tree/walk_tree.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <utility>
#include <vector>

namespace native_runner {
namespace {

constexpr const char* kCall = "scandir";  // as Node's readdir has it

// One directory on the way: what is in it, and how far the walk has come.
struct Level {
  std::vector<NamedType> names;
  std::size_t next = 0;
  std::size_t path_size = 0;  // of the directory's own path
};

// It was a directory when its name was read.
bool HasGone(const FileError& error) {
  return error.kind == FileError::Kind::kSystem &&
         (error.number == ENOENT || error.number == ENOTDIR || error.number == ELOOP);
}

class Walker {
 public:
  Walker(Descriptor top, std::string_view path, const WalkRule& rule, const VisitEntry& visit)
      : descent_(std::move(top), Mounts::kEnter), path_(path), rule_(rule), visit_(visit) {}

  FileResult<Done> Walk() {
    if (auto failed = Begin()) return std::move(*failed);
    while (!levels_.empty()) {
      if (auto failed = Advance()) return std::move(*failed);
    }
    return Done{};
  }

 private:
  // The directory that the descent is in.
  std::optional<FileError> Begin() {
    Level level;
    level.path_size = path_.size();
    const auto left = static_cast<std::size_t>(rule_.most) - names_;
    const auto read = ReadNames(descent_.directory(), left + 1, level.names);
    if (!read) return At(read.error());
    if (level.names.size() > left) return TooMany();
    names_ += level.names.size();
    std::sort(level.names.begin(), level.names.end(),
              [](const NamedType& a, const NamedType& b) { return a.name < b.name; });
    levels_.push_back(std::move(level));
    return std::nullopt;
  }

  std::optional<FileError> Advance() {
    Level& level = levels_.back();
    path_.resize(level.path_size);
    if (level.next == level.names.size()) {
      levels_.pop_back();
      if (levels_.empty()) return std::nullopt;
      const auto left = descent_.Leave(kCall);
      return left ? std::nullopt : std::optional(At(left.error()));
    }
    const NamedType& entry = level.names[level.next++];
    if (!path_.empty()) path_ += '/';
    path_ += entry.name;
    path_bytes_ += path_.size();
    if (path_bytes_ > rule_.most * PATH_MAX) return TooMany();
    const auto type = visit_(descent_.directory(), entry, path_);
    if (!type) return At(type.error());
    if (!rule_.recursive || type.value() != FileType::kDirectory) return std::nullopt;
    const auto entered = descent_.Enter(entry.name, kCall);
    if (entered) return Begin();
    return HasGone(entered.error()) ? std::nullopt : std::optional(At(entered.error()));
  }

  FileError At(FileError error) const {
    error.path = path_;
    return error;
  }

  FileError TooMany() const {
    FileError error;
    error.kind = FileError::Kind::kTooMany;
    error.most = rule_.most;
    return error;
  }

  Descent descent_;
  std::string path_;  // of what is being looked at
  WalkRule rule_;
  const VisitEntry& visit_;
  std::vector<Level> levels_;
  std::size_t names_ = 0;  // that were read; each is going to be told
  std::uint64_t path_bytes_ = 0;
};

}  // namespace

FileResult<Done> WalkTree(const Beneath& root, std::string_view relative, const WalkRule& rule,
                          const VisitEntry& visit) {
  auto top = root.Directory(relative, kCall);
  if (!top) return top.error();
  return Walker(std::move(*top), relative, rule, visit).Walk();
}

}  // namespace native_runner

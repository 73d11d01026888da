#include "effects/files/remove_entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "effects/tree/descent.h"
#include "effects/tree/file_stat.h"

namespace native_runner {
namespace {

constexpr const char* kCall = "rm";
constexpr std::size_t kBatch = 1024;

// How often a directory that is never empty in the end is gone through again: somebody fills it.
constexpr int kMostPasses = 16;

bool IsNotEmpty(int number) {
  return number == ENOTEMPTY || number == EEXIST;
}

// Our own directory, however its mode is, can be emptied: its owner may change that.
void TakeAccess(int directory, const std::string& name) {
  const auto entry = OpenBeneath(directory, name, O_PATH | O_DIRECTORY, kCall, Mounts::kStay);
  if (!entry) return;
  const auto stat = StatOf(entry.value().get(), kCall);
  if (!stat || stat.value().owner != geteuid()) return;
  if ((stat.value().mode & S_IRWXU) == S_IRWXU) return;
  chmod(DescriptorPath(entry.value().get()).c_str(), stat.value().mode | S_IRWXU);
}

FileResult<Descriptor> OpenToEmpty(int directory, const std::string& name) {
  TakeAccess(directory, name);
  return OpenBeneath(directory, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, kCall, Mounts::kStay);
}

// What is mounted is in use.
FileError NotOpened(const FileError& error) {
  const bool is_mount = error.kind == FileError::Kind::kSystem && error.number == EXDEV;
  return is_mount ? Refused(kCall, EBUSY) : error;
}

// One directory on the way.
struct Level {
  std::string name;  // in the one above
  std::vector<NamedType> names;
  int passes = 0;
};

class Emptier {
 public:
  explicit Emptier(Descriptor top) : descent_(std::move(top), Mounts::kStay) {
    levels_.emplace_back();
  }

  // The top itself stays.
  std::optional<FileError> Empty() {
    for (;;) {
      Level& level = levels_.back();
      if (level.names.empty()) {
        if (auto failed = Read(level)) return failed;
      }
      if (!level.names.empty()) {
        if (auto failed = RemoveNext(level)) return failed;
      } else if (levels_.size() == 1) {
        return std::nullopt;
      } else if (auto failed = Leave()) {
        return failed;
      }
    }
  }

 private:
  static bool IsGone(int number) { return number == ENOENT; }

  std::optional<FileError> Read(Level& level) {
    const auto read = ReadNames(descent_.directory(), kBatch, level.names);
    return read ? std::nullopt : std::optional(read.error());
  }

  std::optional<FileError> RemoveNext(Level& level) {
    const std::string name = std::move(level.names.back().name);
    level.names.pop_back();
    const int directory = descent_.directory();
    if (unlinkat(directory, name.c_str(), 0) == 0 || IsGone(errno)) return std::nullopt;
    if (errno != EISDIR) return Refused(kCall, errno);
    if (unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || IsGone(errno)) return std::nullopt;
    if (!IsNotEmpty(errno) && errno != EACCES) return Refused(kCall, errno);
    return Enter(name, 0);
  }

  std::optional<FileError> Enter(const std::string& name, int passes) {
    TakeAccess(descent_.directory(), name);
    const auto entered = descent_.Enter(name, kCall);
    if (!entered) return NotOpened(entered.error());
    levels_.push_back({name, {}, passes});
    return std::nullopt;
  }

  std::optional<FileError> Leave() {
    const Level left = std::move(levels_.back());
    levels_.pop_back();
    const auto above = descent_.Leave(kCall);
    if (!above) return above.error();
    if (unlinkat(descent_.directory(), left.name.c_str(), AT_REMOVEDIR) == 0 || IsGone(errno)) {
      return std::nullopt;
    }
    if (!IsNotEmpty(errno) || left.passes == kMostPasses) return Refused(kCall, errno);
    return Enter(left.name, left.passes + 1);
  }

  Descent descent_;
  std::vector<Level> levels_;
};

FileResult<Done> RemoveTree(const Place& place) {
  const int directory = place.directory.get();
  for (int pass = 0;; ++pass) {
    auto top = OpenToEmpty(directory, place.name);
    if (!top) return NotOpened(top.error());
    if (auto failed = Emptier(std::move(*top)).Empty()) return std::move(*failed);
    if (unlinkat(directory, place.name.c_str(), AT_REMOVEDIR) == 0) return Done{};
    if (!IsNotEmpty(errno) || pass == kMostPasses) return Refused(kCall, errno);
  }
}

}  // namespace

FileResult<Done> RemoveEntry(const Beneath& root, std::string_view relative, bool recursive) {
  const auto found = root.PlaceOf(relative, kCall);
  if (!found) return found.error();
  const Place& place = found.value();
  const int directory = place.directory.get();
  if (unlinkat(directory, place.name.c_str(), 0) == 0) return Done{};
  if (errno != EISDIR) return Refused(kCall, errno);
  if (unlinkat(directory, place.name.c_str(), AT_REMOVEDIR) == 0) return Done{};
  if (!recursive || !IsNotEmpty(errno)) return Refused(kCall, errno);
  return RemoveTree(place);
}

}  // namespace native_runner

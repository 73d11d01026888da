#include "workspace/files/directory_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "policy/text/text.h"
#include "supervise/os/file.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

constexpr const char* kScandir = "scandir";  // as Node's readdir has it

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
  // One directory on the way: what is in it, and how far the walk has come.
  struct Level {
    std::vector<NamedType> names;
    std::size_t next = 0;
    std::size_t path_size = 0;  // of the directory's own path
  };

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
      const auto left = descent_.Leave(kScandir);
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
    const auto entered = descent_.Enter(entry.name, kScandir);
    if (entered) return Begin();
    if (HasGone(entered.error()) || PassesOver(entered.error())) return std::nullopt;
    return At(entered.error());
  }

  bool PassesOver(const FileError& error) {
    const bool is_closed =
        error.kind == FileError::Kind::kSystem && error.number == EACCES && rule_.has_closed;
    if (is_closed) *rule_.has_closed = true;
    return is_closed;
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
  auto top = root.Directory(relative, kScandir);
  if (!top) return top.error();
  return Walker(std::move(*top), relative, rule, visit).Walk();
}

namespace {

// nullopt: it has gone.
std::optional<FileType> TypeOf(int directory, const NamedType& entry) {
  switch (entry.type) {
    case DT_REG:
      return FileType::kFile;
    case DT_DIR:
      return FileType::kDirectory;
    case DT_LNK:
      return FileType::kSymlink;
    case DT_UNKNOWN:
      break;
    default:
      return FileType::kOther;
  }
  struct statx seen {};
  if (statx(directory, entry.name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &seen) != 0) {
    return std::nullopt;
  }
  return FileTypeOf(seen.stx_mode);
}

}  // namespace

FileResult<std::vector<ListedEntry>> ListDirectory(const Beneath& root, std::string_view relative,
                                                   const ListRule& rule) {
  std::vector<ListedEntry> entries;
  const auto walked =
      WalkTree(root, relative, rule,
               [&entries](int directory, const NamedType& entry,
                          const std::string& path) -> FileResult<std::optional<FileType>> {
                 const auto type = TypeOf(directory, entry);
                 if (type) entries.push_back({path, *type});
                 return type;
               });
  if (!walked) return walked.error();
  return entries;
}

namespace {

class Surveyor {
 public:
  FileResult<std::optional<FileType>> Visit(int directory, const char* name,
                                            const std::string& path) {
    if (!IsUtf8(path)) return Refused(kScandir, EILSEQ);
    const auto state = StateOf(directory, name, kScandir);
    if (!state) {
      if (state.error().number == ENOENT) return std::optional<FileType>();
      return state.error();
    }
    const FileType type = FileTypeOf(static_cast<mode_t>(state.value().front()));
    std::string target;
    if (type == FileType::kSymlink) {
      auto read = TargetOf(directory, name);
      if (!read) return read.error();
      if (!*read) return std::optional<FileType>();
      target = std::move(**read);
    }
    survey_.text += path;
    survey_.text += '\0';
    if (type == FileType::kSymlink) {
      survey_.text += target;
      survey_.text += '\0';
    }
    survey_.numbers.insert(survey_.numbers.end(), state.value().begin(), state.value().end());
    return std::optional(type);
  }

  Survey Finish() { return std::move(survey_); }

 private:
  // nullopt: it is no link any more.
  static FileResult<std::optional<std::string>> TargetOf(int directory, const char* name) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = readlinkat(directory, name, target.data(), target.size());
    if (size < 0 && (errno == ENOENT || errno == EINVAL)) return std::optional<std::string>();
    if (size < 0) return Refused(kScandir, errno);
    target.resize(static_cast<std::size_t>(size));
    if (!IsUtf8(target)) return Refused(kScandir, EILSEQ);
    return std::optional(std::move(target));
  }

  Survey survey_;
};

}  // namespace

FileResult<Survey> SurveyTree(const Beneath& root, std::uint64_t most) {
  Surveyor surveyor;
  const auto top = surveyor.Visit(root.directory(), "", ".");
  if (!top) return top.error();
  const auto walked =
      WalkTree(root, "", {.recursive = true, .most = most},
               [&surveyor](int directory, const NamedType& entry, const std::string& path) {
                 return surveyor.Visit(directory, entry.name.c_str(), path);
               });
  if (!walked) return walked.error();
  return surveyor.Finish();
}

namespace {

constexpr const char* kMkdir = "mkdir";

FileResult<Descriptor> Step(int directory, const std::string& name, mode_t mode, bool is_last) {
  const bool made = mkdirat(directory, name.c_str(), mode) == 0;
  const int number = errno;
  auto entered = OpenBeneath(directory, name, O_PATH | O_DIRECTORY, kMkdir);
  if (entered || entered.error().kind != FileError::Kind::kSystem) return entered;
  const int why = entered.error().number;
  if (why == ENOENT && !made) return Refused(kMkdir, number);
  // The name is taken, as mkdir(2) says it.
  return why == ENOTDIR && is_last ? Refused(kMkdir, EEXIST) : entered.error();
}

}  // namespace

FileResult<Done> MakeDirectory(const Beneath& root, std::string_view relative, MakeRule rule) {
  if (!rule.recursive) {
    if (relative.empty()) return Refused(kMkdir, EEXIST);
    const auto place = root.PlaceOf(relative, kMkdir);
    if (!place) return place.error();
    const Place& at = place.value();
    if (mkdirat(at.directory.get(), at.name.c_str(), rule.mode) != 0) return Refused(kMkdir, errno);
    return Done{};
  }
  Descriptor reached;
  int directory = root.directory();
  while (!relative.empty()) {
    const std::size_t end = std::min(relative.find('/'), relative.size());
    const bool is_last = end == relative.size();
    auto entered = Step(directory, std::string(relative.substr(0, end)), rule.mode, is_last);
    if (!entered) return entered.error();
    reached = std::move(*entered);
    directory = reached.get();
    relative.remove_prefix(std::min(end + 1, relative.size()));
  }
  return Done{};
}

FileResult<Done> RenameEntry(const Beneath& root, std::string_view from, std::string_view to) {
  constexpr const char* kCall = "rename";
  const auto source = root.PlaceOf(from, kCall);
  if (!source) return source.error();
  const auto target = root.PlaceOf(to, kCall);
  if (!target) return target.error();
  const Place& a = source.value();
  const Place& b = target.value();
  if (renameat(a.directory.get(), a.name.c_str(), b.directory.get(), b.name.c_str()) != 0) {
    return Refused(kCall, errno);
  }
  return Done{};
}

namespace {

constexpr const char* kRm = "rm";
constexpr std::size_t kBatch = 1024;

// How often a directory that is never empty in the end is gone through again: somebody fills it.
constexpr int kMostPasses = 16;

bool IsNotEmpty(int number) {
  return number == ENOTEMPTY || number == EEXIST;
}

// Our own directory, however its mode is, can be emptied: its owner may change that.
void TakeAccess(int directory, const std::string& name) {
  const auto entry = OpenBeneath(directory, name, O_PATH | O_DIRECTORY, kRm, Mounts::kStay);
  if (!entry) return;
  const auto stat = StatOf(entry.value().get(), kRm);
  if (!stat || stat.value().owner != geteuid()) return;
  if ((stat.value().mode & S_IRWXU) == S_IRWXU) return;
  chmod(DescriptorPath(entry.value().get()).c_str(), stat.value().mode | S_IRWXU);
}

FileResult<Descriptor> OpenToEmpty(int directory, const std::string& name) {
  TakeAccess(directory, name);
  return OpenBeneath(directory, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, kRm, Mounts::kStay);
}

// What is mounted is in use.
FileError NotOpened(const FileError& error) {
  const bool is_mount = error.kind == FileError::Kind::kSystem && error.number == EXDEV;
  return is_mount ? Refused(kRm, EBUSY) : error;
}

class Emptier {
 public:
  Emptier(Descriptor top, bool may_stop)
      : descent_(std::move(top), Mounts::kStay), may_stop_(may_stop) {
    levels_.emplace_back();
  }

  // The top itself stays.
  std::optional<FileError> Empty() {
    for (;;) {
      if (may_stop_ && IsStopped()) return Refused(kRm, ECANCELED);
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
  // One directory on the way.
  struct Level {
    std::string name;  // in the one above
    std::vector<NamedType> names;
    int passes = 0;
  };

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
    if (errno != EISDIR) return Refused(kRm, errno);
    if (unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || IsGone(errno)) return std::nullopt;
    if (!IsNotEmpty(errno) && errno != EACCES) return Refused(kRm, errno);
    return Enter(name, 0);
  }

  std::optional<FileError> Enter(const std::string& name, int passes) {
    TakeAccess(descent_.directory(), name);
    const auto entered = descent_.Enter(name, kRm);
    if (!entered) return NotOpened(entered.error());
    levels_.push_back({name, {}, passes});
    return std::nullopt;
  }

  std::optional<FileError> Leave() {
    const Level left = std::move(levels_.back());
    levels_.pop_back();
    const auto above = descent_.Leave(kRm);
    if (!above) return above.error();
    if (unlinkat(descent_.directory(), left.name.c_str(), AT_REMOVEDIR) == 0 || IsGone(errno)) {
      return std::nullopt;
    }
    if (!IsNotEmpty(errno) || left.passes == kMostPasses) return Refused(kRm, errno);
    return Enter(left.name, left.passes + 1);
  }

  Descent descent_;
  bool may_stop_;
  std::vector<Level> levels_;
};

FileResult<Done> RemoveTree(const Place& place, bool may_stop) {
  const int directory = place.directory.get();
  for (int pass = 0;; ++pass) {
    auto top = OpenToEmpty(directory, place.name);
    if (!top) return NotOpened(top.error());
    if (auto failed = Emptier(std::move(*top), may_stop).Empty()) return std::move(*failed);
    if (unlinkat(directory, place.name.c_str(), AT_REMOVEDIR) == 0) return Done{};
    if (!IsNotEmpty(errno) || pass == kMostPasses) return Refused(kRm, errno);
  }
}

}  // namespace

FileResult<Done> RemoveEntry(const Beneath& root, std::string_view relative, bool recursive,
                             bool may_stop) {
  const auto found = root.PlaceOf(relative, kRm);
  if (!found) return found.error();
  const Place& place = found.value();
  const int directory = place.directory.get();
  if (unlinkat(directory, place.name.c_str(), 0) == 0) return Done{};
  if (errno != EISDIR) return Refused(kRm, errno);
  if (unlinkat(directory, place.name.c_str(), AT_REMOVEDIR) == 0) return Done{};
  if (!recursive || !IsNotEmpty(errno)) return Refused(kRm, errno);
  return RemoveTree(place, may_stop);
}

}  // namespace native_runner

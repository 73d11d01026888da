#include "workspace/files/workspace_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "workspace/tree/file_stat.h"

namespace native_runner {

FileResult<bool> LockFile(int fd, LockKind kind) {
  const int operation = kind == LockKind::kShared ? LOCK_SH : LOCK_EX;
  while (flock(fd, operation | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return Refused("flock", errno);
  }
  return true;
}

FileResult<Done> MakeFifo(const std::string& path, mode_t permissions) {
  if (mkfifo(path.c_str(), 0600) != 0) return Refused("mkfifo", errno);
  if (chmod(path.c_str(), permissions) != 0) return Refused("chmod", errno);
  return Done();
}

FileResult<Done> SyncFileSystem(int fd) {
  if (syncfs(fd) != 0) return Refused("syncfs", errno);
  return Done();
}

namespace {

FileError TooLarge(std::uint64_t most) {
  FileError error;
  error.kind = FileError::Kind::kTooLarge;
  error.most = most;
  return error;
}

ssize_t ReadSome(int fd, std::uint8_t* data, std::size_t size) {
  ssize_t count = -1;
  do {
    count = read(fd, data, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

FileResult<Bytes> ReadAll(int fd, std::uint64_t most) {
  OutputBuffer buffer({most, 0});
  for (;;) {
    auto [data, size] = buffer.Space();
    std::uint8_t beyond = 0;
    const bool is_full = size == 0;
    if (is_full && buffer.total() < most) return Refused("read", ENOMEM);
    const ssize_t count = is_full ? ReadSome(fd, &beyond, 1) : ReadSome(fd, data, size);
    if (count < 0) return Refused("read", errno);
    if (count == 0) return buffer.Take();
    if (is_full) return TooLarge(most);
    buffer.Commit(static_cast<std::size_t>(count));
  }
}

}  // namespace

FileResult<Bytes> ReadFile(const Beneath& root, std::string_view relative, std::uint64_t most) {
  auto entry = root.Entry(relative, "open");
  if (!entry) return entry.error();
  const auto stat = StatOf(entry->get(), "open");
  if (!stat) return stat.error();
  if (auto refused = RefuseNoFile(stat.value().type, "open")) return std::move(*refused);
  if (stat.value().size > most) return TooLarge(most);
  auto file = Reopen(entry->get(), O_RDONLY, "open");
  if (!file) return file.error();
  return ReadAll(file->get(), most);
}

namespace {

// How long those are waited for who have it locked for a few system calls.
constexpr int kLockTries = 500;
constexpr useconds_t kLockStepUs = 2000;

bool Is(const FileError& error, int number) {
  return error.kind == FileError::Kind::kSystem && error.number == number;
}

std::optional<FileError> Lock(int fd) {
  for (int i = 0; i < kLockTries; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return std::nullopt;
    if (errno != EWOULDBLOCK && errno != EINTR) return Refused("flock", errno);
    usleep(kLockStepUs);
  }
  return Refused("flock", EBUSY);
}

// The file, open in whichever way its mode lets us; a lock needs no more.
FileResult<Descriptor> OpenToLock(int directory, const std::string& name) {
  const auto entry = OpenBeneath(directory, name, O_PATH, "open");
  if (!entry) return Is(entry.error(), ENOENT) ? HasChanged() : entry.error();
  const auto stat = StatOf(entry.value().get(), "open");
  if (!stat) return stat.error();
  if (stat.value().type != FileType::kFile) return HasChanged();
  auto file = Reopen(entry.value().get(), O_RDONLY, "open");
  if (file || !Is(file.error(), EACCES)) return file;
  return Reopen(entry.value().get(), O_WRONLY, "open");
}

bool IsVersion(int directory, const std::string& name, const FileVersion& version) {
  const auto now = LookAt(directory, name, "open");
  return now && now.value() && now.value()->version == version;
}

}  // namespace

FileError HasChanged() {
  FileError error;
  error.kind = FileError::Kind::kChanged;
  return error;
}

FileResult<ExistingFile> LookAt(int directory, const std::string& name, const char* call) {
  const auto entry = OpenBeneath(directory, name, O_PATH, call);
  if (!entry) {
    if (Is(entry.error(), ENOENT)) return ExistingFile();
    return entry.error();
  }
  const auto stat = StatOf(entry.value().get(), call);
  if (!stat) return stat.error();
  return ExistingFile(stat.value());
}

FileResult<Done> PutBack(StagedFile& staged, int directory, const std::string& name) {
  const auto back = staged.Exchange(name);
  if (!back) return back.error();
  // What comes out now is ours, unless somebody wrote without asking: that is the latest.
  const auto out = LookAt(directory, back.value(), "open");
  const auto ours = StatOf(staged.get(), "open");
  const bool is_there = out && out.value();
  if (is_there && ours && !out.value()->version.SameFile(ours.value().version)) {
    const auto again = staged.Exchange(name);
    if (!again) return again.error();
  }
  return HasChanged();
}

FileResult<Done> ExchangeUnchanged(StagedFile& staged, int directory, const std::string& name,
                                   const FileVersion& version) {
  const auto exchanged = staged.Exchange(name);
  if (!exchanged) {
    if (Is(exchanged.error(), ENOENT)) return HasChanged();
    // The file system can't: what others do from here on is not seen.
    return Is(exchanged.error(), EINVAL) ? staged.Replace(name) : exchanged.error();
  }
  const auto out = LookAt(directory, exchanged.value(), "open");
  if (out && out.value() && out.value()->version.SameContent(version)) return Done{};
  return PutBack(staged, directory, name);
}

FileResult<Done> ReplaceUnchanged(StagedFile& staged, int directory, const std::string& name,
                                  const FileVersion& version) {
  const auto old = OpenToLock(directory, name);
  if (!old) return old.error();
  if (auto refused = Lock(old.value().get())) return std::move(*refused);
  if (auto refused = Lock(staged.get())) return std::move(*refused);
  if (!IsVersion(directory, name, version)) return HasChanged();
  return ExchangeUnchanged(staged, directory, name, version);
}

namespace {

constexpr mode_t kPermissions = 0777;  // the set-id bits are not for content that is new

// Taking a file's place needs only its directory, but whom its mode keeps from writing is kept.
std::optional<FileError> RefuseUnwritable(int directory, const std::string& name) {
  if (faccessat(directory, name.c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 ||
      errno == ENOENT) {
    return std::nullopt;
  }
  return Refused("open", errno);
}

std::optional<FileError> Check(const ExistingFile& existing, const Place& place,
                               const WriteRule& rule) {
  if (!existing) {
    return rule.condition == WriteRule::If::kUnchanged ? std::optional(HasChanged()) : std::nullopt;
  }
  if (rule.condition == WriteRule::If::kAbsent) return Refused("open", EEXIST);
  if (auto refused = RefuseNoFile(existing->type, "open")) return refused;
  if (rule.condition == WriteRule::If::kUnchanged && existing->version != rule.version) {
    return HasChanged();
  }
  return RefuseUnwritable(place.directory.get(), place.name);
}

std::optional<FileError> WriteAll(int fd, std::span<const std::uint8_t> data) {
  while (!data.empty()) {
    const ssize_t count = write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Refused("write", errno);
    data = data.subspan(static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

// What the file is besides its content. An owner that can't be kept is no fault: in a directory
// that is ours, so is the file.
std::optional<FileError> Furnish(int fd, const Place& place, const ExistingFile& existing,
                                 const WriteRule& rule) {
  if (existing) {
    const auto entry = OpenBeneath(place.directory.get(), place.name, O_PATH, "open");
    if (!entry && !Is(entry.error(), ENOENT)) return entry.error();
    if (entry && !CopyAccessList(entry.value().get(), fd)) return Refused("setxattr", errno);
    const auto made = StatOf(fd, "write");
    if (!made) return made.error();
    const bool is_same =
        made.value().owner == existing->owner && made.value().group == existing->group;
    if (!is_same && fchown(fd, existing->owner, existing->group) != 0 && errno != EPERM &&
        errno != EINVAL) {
      return Refused("chown", errno);
    }
  }
  if (!existing && !rule.mode) return std::nullopt;
  const mode_t mode = rule.mode.value_or(existing ? existing->mode & kPermissions : 0);
  if (fchmod(fd, mode) != 0) return Refused("chmod", errno);
  return std::nullopt;
}

FileResult<Done> Publish(StagedFile& staged, const Place& place, const ExistingFile& existing,
                         const WriteRule& rule) {
  switch (rule.condition) {
    case WriteRule::If::kAbsent:
      return staged.LinkAs(place.name);
    case WriteRule::If::kUnchanged:
      return ReplaceUnchanged(staged, place.directory.get(), place.name, rule.version);
    case WriteRule::If::kAny:
      break;
  }
  if (!existing) {
    auto linked = staged.LinkAs(place.name);
    const bool is_taken = !linked && linked.error().kind == FileError::Kind::kSystem &&
                          linked.error().number == EEXIST;
    if (!is_taken) return linked;
  }
  return staged.Replace(place.name);
}

std::optional<FileError> FlushDirectory(int directory) {
  const auto opened = OpenBeneath(directory, "", O_RDONLY | O_DIRECTORY, "fsync");
  if (!opened) return opened.error();
  if (fsync(opened.value().get()) != 0) return Refused("fsync", errno);
  return std::nullopt;
}

}  // namespace

FileResult<FileStat> WriteFile(const Beneath& root, std::string_view relative,
                               std::span<const std::uint8_t> data, const WriteRule& rule) {
  constexpr mode_t kOwnOnly = S_IRUSR | S_IWUSR;
  constexpr mode_t kUsual = 0666;
  if (relative.empty()) return Refused("open", EISDIR);
  const auto place = root.PlaceOf(relative, "open");
  if (!place) return place.error();
  const int directory = place.value().directory.get();
  const auto looked = LookAt(directory, place.value().name, "open");
  if (!looked) return looked.error();
  const ExistingFile& existing = looked.value();
  if (auto refused = Check(existing, place.value(), rule)) return std::move(*refused);

  auto staged = StagedFile::Make(directory, existing || rule.mode ? kOwnOnly : kUsual);
  if (!staged) return staged.error();
  if (auto failed = WriteAll(staged->get(), data)) return std::move(*failed);
  if (auto failed = Furnish(staged->get(), place.value(), existing, rule))
    return std::move(*failed);
  if (rule.flush && fsync(staged->get()) != 0) return Refused("fsync", errno);
  const auto published = Publish(*staged, place.value(), existing, rule);
  if (!published) return published.error();
  if (rule.flush) {
    if (auto failed = FlushDirectory(directory)) return std::move(*failed);
  }
  return StatOf(staged->get(), "stat");
}

OpenWorkspaceRoot WorkspaceRootAt(std::string path) {
  return [path = std::move(path)]() -> FileResult<WorkspaceRoot> {
    auto directory = Beneath::Open(path);
    if (!directory) return directory.error();
    return WorkspaceRoot{std::move(*directory), nullptr};
  };
}

FileResult<WorkspaceRoot> WorkspaceFiles::Open(Use use, const char* call) const {
  if (use == Use::kRead && !rights_.may_read) return Refused(call, EACCES);
  if (use == Use::kWrite && !rights_.may_write) return Refused(call, EROFS);
  return rights_.open();
}

FileResult<Bytes> WorkspaceFiles::Read(std::string_view path, std::uint64_t most) const {
  const auto root = Open(Use::kRead, "open");
  if (!root) return root.error();
  return ReadFile(root.value().directory, path, most);
}

FileResult<FileStat> WorkspaceFiles::Write(std::string_view path,
                                           std::span<const std::uint8_t> data,
                                           const WriteRule& rule) const {
  const auto root = Open(Use::kWrite, "open");
  if (!root) return root.error();
  return WriteFile(root.value().directory, path, data, rule);
}

FileResult<std::vector<ListedEntry>> WorkspaceFiles::List(std::string_view path,
                                                          const ListRule& rule) const {
  const auto root = Open(Use::kRead, "scandir");
  if (!root) return root.error();
  return ListDirectory(root.value().directory, path, rule);
}

FileResult<Survey> WorkspaceFiles::TakeSurvey(std::uint64_t most) const {
  const auto root = Open(Use::kRead, "scandir");
  if (!root) return root.error();
  return SurveyTree(root.value().directory, most);
}

FileResult<FileStat> WorkspaceFiles::Stat(std::string_view path) const {
  const auto root = Open(Use::kLook, "stat");
  if (!root) return root.error();
  const auto entry = root.value().directory.Entry(path, "stat");
  if (!entry) return entry.error();
  return StatOf(entry.value().get(), "stat");
}

FileResult<Done> WorkspaceFiles::Make(std::string_view path, MakeRule rule) const {
  const auto root = Open(Use::kWrite, "mkdir");
  if (!root) return root.error();
  return MakeDirectory(root.value().directory, path, rule);
}

FileResult<Done> WorkspaceFiles::Rename(std::string_view from, std::string_view to) const {
  const auto root = Open(Use::kWrite, "rename");
  if (!root) return root.error();
  return RenameEntry(root.value().directory, from, to);
}

FileResult<Done> WorkspaceFiles::Remove(std::string_view path, bool recursive) const {
  const auto root = Open(Use::kWrite, "rm");
  if (!root) return root.error();
  return RemoveEntry(root.value().directory, path, recursive);
}

}  // namespace native_runner

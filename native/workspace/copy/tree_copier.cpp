#include "workspace/copy/tree_copier.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/transaction/file_systems.h"
#include "supervise/os/file.h"
#include "workspace/changes/same_file.h"
#include "workspace/files/directory_entries.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {

void CopyProgress::Tell() {
  constexpr std::int64_t kBetweenMs = 100;
  if (!tell) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t now_ms = std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
  if (now_ms - reported_ms < kBetweenMs) return;
  reported_ms = now_ms;
  tell(files, bytes);
}

namespace {

constexpr off_t kMostAtOnce = off_t{16} << 20U;  // between two looks at whether to stop
constexpr std::size_t kBlock = std::size_t{128} << 10U;

// What the kernel says where two files can't be copied by it.
bool IsUnsupported(int number) {
  return number == EXDEV || number == EINVAL || number == ENOSYS || number == EOPNOTSUPP ||
         number == EPERM || number == ETXTBSY;
}

int WriteAll(int to, const char* data, std::size_t size, off_t at) {
  while (size > 0) {
    const ssize_t written = pwrite(to, data, size, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    data += written;
    size -= static_cast<std::size_t>(written);
    at += written;
  }
  return 0;
}

class Contents {
 public:
  Contents(int from, int to, CopyProgress* progress) : from_(from), to_(to), progress_(progress) {}

  // What there is from `at` to `end`; less where the file has become shorter.
  int CopyRange(off_t at, off_t end) {
    while (at < end && !is_by_hand_) {
      if (progress_->is_stopped || IsStopped()) return ECANCELED;
      off_t read = at;
      off_t written = at;
      const auto most = static_cast<std::size_t>(std::min(end - at, kMostAtOnce));
      const ssize_t copied = copy_file_range(from_, &read, to_, &written, most, 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0 && !IsUnsupported(errno)) return errno;
      // A file of the kernel's own has nothing for this call, though it may be read.
      is_by_hand_ = copied <= 0;
      Count(copied);
      at += std::max<ssize_t>(copied, 0);
    }
    return at < end ? ReadAndWrite(at, end) : 0;
  }

 private:
  void Count(ssize_t bytes) const {
    if (bytes <= 0) return;
    progress_->bytes += static_cast<std::uint64_t>(bytes);
    progress_->Tell();
  }

  int ReadAndWrite(off_t at, off_t end) {
    block_.resize(kBlock);
    while (at < end) {
      if (progress_->is_stopped || IsStopped()) return ECANCELED;
      const auto most = std::min<std::size_t>(kBlock, static_cast<std::size_t>(end - at));
      const ssize_t got = pread(from_, block_.data(), most, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      if (got == 0) return 0;
      if (const int error = WriteAll(to_, block_.data(), static_cast<std::size_t>(got), at);
          error != 0) {
        return error;
      }
      Count(got);
      at += got;
    }
    return 0;
  }

  int from_;
  int to_;
  CopyProgress* progress_;
  bool is_by_hand_ = false;
  std::vector<char> block_;
};

}  // namespace

int CopyContents(int from, int to, std::uint64_t size, CopyProgress* progress) {
  if (size == 0) return 0;
  if (ioctl(to, FICLONE, from) == 0) return 0;
  const auto end = static_cast<off_t>(size);
  Contents contents(from, to, progress);
  for (off_t at = 0; at < end;) {
    off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole to the end
    if (data < 0) data = at;                // it knows of no holes
    const off_t hole = lseek(from, data, SEEK_HOLE);
    const off_t until = hole <= data ? end : std::min(hole, end);
    if (const int error = contents.CopyRange(data, until); error != 0) return error;
    at = until;
  }
  return ftruncate(to, end) == 0 ? 0 : errno;
}

namespace {

constexpr mode_t kOwnersFile = 0600;
constexpr int kMostTries = 5;  // for a file that somebody keeps changing

// What became of one try.
enum class Tried { kDone, kChanged };

std::array<timespec, 2> TimesOf(const Node& node) {
  return {TimeOf(node.modified_ns), TimeOf(node.modified_ns)};
}

bool IsSame(const Node& one, const HostFile& other) {
  return static_cast<const HostFile&>(one) == other;
}

class Entry {
 public:
  Entry(const ScannedDirectory& from, const std::string& name, int to, const std::string& to_name,
        const std::string& shown, const CopyRules& rules)
      : from_(from), name_(name), to_(to), to_name_(to_name), shown_(shown), rules_(rules) {}

  Result<std::optional<CopiedEntry>> Run() {
    for (int left = kMostTries; left > 0; --left) {
      auto original = LookPast();
      if (!original) return original.error();
      if (!*original || !CanBeCopied(**original)) return std::optional<CopiedEntry>();
      const auto tried = Try(**original);
      if (!tried || tried.value() == Tried::kChanged) {
        static_cast<void>(unlinkat(to_, to_name_.c_str(), 0));
        if (!tried) return tried.error();
        continue;
      }
      auto copy = Copy();
      if (!copy) return copy.error();
      ++rules_.progress->files;
      return std::optional(CopiedEntry{**original, *copy, contents_});
    }
    return Failed("it was changed again and again while it was copied");
  }

 private:
  static bool CanBeCopied(const Node& node) {
    return node.is_file() || node.is_link() || S_ISFIFO(node.mode) || S_ISSOCK(node.mode);
  }

  Error Failed(const std::string& why, ErrorCode code = ErrorCode::kSetup) const {
    return Error{code, shown_ + " can't be copied: " + why, ""};
  }
  Error Failed(const char* call, int number) const {
    if (number == ECANCELED) return Error{ErrorCode::kClosed, "copying was stopped", ""};
    // Of a workspace that is another's.
    const bool is_unreadable = number == EACCES && rules_.like == nullptr;
    return Failed(std::string(call) + ": " + std::strerror(number),
                  is_unreadable ? ErrorCode::kUnavailable : ErrorCode::kSetup);
  }

  // As it is once whatever is done to it from now on can be told by its ctime.
  Result<std::optional<Node>> LookPast() const {
    auto original = from_.Look(name_);
    if (!original || !*original || !MayBeSince((*original)->changed_ns, FileClock()))
      return original;
    WaitUntilPast((*original)->changed_ns);
    return from_.Look(name_);
  }

  Result<Node> Copy() const {
    const Descriptor copy(openat(to_, to_name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!copy.valid()) return Failed("open", errno);
    return NodeOf(copy.get());
  }

  Result<Tried> Try(const Node& original) {
    if (original.is_file()) return TryFile(original);
    if (original.is_link()) {
      const auto target = from_.Target(name_);
      if (!target) return Tried::kChanged;
      if (symlinkat(target.value().c_str(), to_, to_name_.c_str()) != 0) {
        return Failed("symlink", errno);
      }
    } else if (mknodat(to_, to_name_.c_str(), (original.mode & S_IFMT) | kOwnersFile, 0) != 0) {
      return Failed("mknod", errno);
    }
    if (auto error = FinishUnopened(original)) return *error;
    const auto now = from_.Look(name_);
    return now && now.value() && IsSame(*now.value(), original) ? Tried::kDone : Tried::kChanged;
  }

  Result<Tried> TryFile(const Node& original) {
    auto source = OpenBeneath(from_.descriptor(), name_, O_RDONLY | O_NONBLOCK | O_NOCTTY, "open");
    if (!source) {
      const FileError& why = source.error();
      if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
      if (why.number == ENOENT || why.number == ELOOP) return Tried::kChanged;
      return Failed("open", why.number);
    }
    const auto before = NodeOf(source->get());
    if (!before || !IsSame(before.value(), original)) return Tried::kChanged;
    const Descriptor copy(openat(to_, to_name_.c_str(),
                                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnersFile));
    if (!copy.valid()) return Failed("open", errno);
    contents_.reset();
    const bool is_noted = rules_.notes_contents && MayChangeUnseen(source->get(), original);
    if (const int error = CopyContents(source->get(), copy.get(), original.size, rules_.progress);
        error != 0) {
      return Failed("copy", error);
    }
    if (is_noted) {
      contents_ = DigestOf(copy.get());
      if (!contents_) return Failed("read", IsStopped() ? ECANCELED : EIO);
    }
    if (!CopyAttributes(source->get(), copy.get())) return Failed("setxattr", errno);
    const bool is_exact = rules_.like != nullptr;
    if (const int error = GiveAttributes(copy.get(), Wanted(original), is_exact); error != 0) {
      return Failed(error == EPERM ? "its owner or group can't be given" : "chmod", error);
    }
    const auto after = NodeOf(source->get());
    return after && IsSame(after.value(), original) ? Tried::kDone : Tried::kChanged;
  }

  // The original with the attributes that the copy is to have.
  Node Wanted(const Node& original) const {
    Node wanted = original;
    if (rules_.like == nullptr) return wanted;
    wanted.mode = rules_.like->mode;
    wanted.uid = rules_.like->uid;
    wanted.gid = rules_.like->gid;
    return wanted;
  }

  // Of what must not be opened, or can't be.
  std::optional<Error> FinishUnopened(const Node& original) const {
    const Node wanted = Wanted(original);
    const char* name = to_name_.c_str();
    const bool is_other = wanted.uid != geteuid() || wanted.gid != getegid();
    if (is_other && fchownat(to_, name, wanted.uid, wanted.gid, AT_SYMLINK_NOFOLLOW) != 0 &&
        ((errno != EPERM && errno != EINVAL) || rules_.like != nullptr)) {
      return Failed("its owner or group can't be given", errno);
    }
    if (!original.is_link() && fchmodat(to_, name, wanted.mode & kModeBits, 0) != 0) {
      return Failed("chmod", errno);
    }
    const auto times = TimesOf(original);
    if (utimensat(to_, name, times.data(), AT_SYMLINK_NOFOLLOW) != 0) {
      return Failed("utimensat", errno);
    }
    return std::nullopt;
  }

  const ScannedDirectory& from_;
  const std::string& name_;
  int to_;
  const std::string& to_name_;
  const std::string& shown_;
  const CopyRules& rules_;
  std::optional<std::uint64_t> contents_;
};

// Which of them it has by now; a user may give a file to a group of the user's own only.
struct Given {
  bool owner = false;
  bool group = false;
};

Given GiveOwner(int file, const Node& like, bool is_exact) {
  const auto now = NodeOf(file);
  if (!now) return {};
  if (now.value().uid == like.uid && now.value().gid == like.gid) return {true, true};
  if (fchown(file, like.uid, like.gid) == 0) return {true, true};
  if (is_exact) return {};
  return {false, fchown(file, static_cast<uid_t>(-1), like.gid) == 0};
}

}  // namespace

int GiveAttributes(int directory, const Node& like, bool is_exact) {
  const Given given = GiveOwner(directory, like, is_exact);
  if (is_exact && !given.owner) return EPERM;
  mode_t mode = like.mode & kModeBits;
  // Who runs it would be somebody else than was meant. What is made in a directory still gets its
  // group.
  if (!given.owner) mode &= ~static_cast<mode_t>(S_ISUID);
  if (!given.group || (!given.owner && !like.is_directory())) {
    mode &= ~static_cast<mode_t>(S_ISGID);
  }
  if (fchmod(directory, mode) != 0) return errno;
  const auto times = TimesOf(like);
  return futimens(directory, times.data()) == 0 ? 0 : errno;
}

Result<std::optional<CopiedEntry>> CopyEntry(const ScannedDirectory& from, const std::string& name,
                                             int to, const std::string& to_name,
                                             const std::string& shown, const CopyRules& rules) {
  return Entry(from, name, to, to_name, shown, rules).Run();
}

namespace {

constexpr int kMostCopies = 5;   // of a file that is replaced again and again
constexpr int kMostRounds = 50;  // of the directories that were replaced since they were copied
constexpr std::size_t kMostNames = std::size_t{64} << 10U;  // XATTR_LIST_MAX in Linux

Error Failed(const std::string& path, const char* call, int number = errno) {
  const std::string shown = path.empty() ? "." : path;
  return Error{ErrorCode::kSetup, shown + ": " + call + ": " + std::strerror(number), ""};
}

// To go on would be to tell of what a directory never was.
Error KeepsChanging(const std::string& path) {
  return Error{ErrorCode::kSetup, path + ": commands replace it faster than it can be copied",
               "fork with `quiesce: true`, which waits until no command runs"};
}

bool IsAtOrBelow(const PathSet& paths, std::string_view path) {
  while (!path.empty()) {
    if (paths.find(path) != paths.end()) return true;
    path = SplitPath(path).parent;
  }
  return false;
}

// What the file system's own rules keep from a copy (a security module's label) is no fault.
bool IsOurs(std::string_view name) {
  return !name.starts_with("security.");
}

bool CopyAllAttributes(int from, int to) {
  if (flistxattr(from, nullptr, 0) == 0) return true;  // most often
  std::string names(kMostNames, '\0');
  const ssize_t size = flistxattr(from, names.data(), names.size());
  if (size < 0) return errno == ENOTSUP;
  std::string value(kMostNames, '\0');
  for (const char* at = names.data(); at < names.data() + size; at += std::strlen(at) + 1) {
    const ssize_t got = fgetxattr(from, at, value.data(), value.size());
    if (got < 0 && errno == ENODATA) continue;
    const bool is_set =
        got >= 0 && fsetxattr(to, at, value.data(), static_cast<std::size_t>(got), 0) == 0;
    if (!is_set && IsOurs(at)) return false;
  }
  return true;
}

bool IsOthers(const struct stat& like) {
  return like.st_uid != geteuid() || like.st_gid != getegid();
}

std::array<timespec, 2> TimesOf(const struct stat& like) {
  return {timespec{0, UTIME_OMIT}, like.st_mtim};
}

// Also one whose mode keeps its owner out, who is given another for that moment.
Result<Descriptor> OpenToRead(const ScannedDirectory& from, const std::string& name,
                              const struct stat& like) {
  const bool is_shut = (like.st_mode & S_IRUSR) == 0 && geteuid() != 0;
  if (!is_shut) return from.OpenFile(name);
  if (fchmodat(from.descriptor(), name.c_str(), (like.st_mode & kModeBits) | S_IRUSR, 0) != 0) {
    return Failed(name, "chmod");
  }
  auto opened = from.OpenFile(name);
  if (fchmodat(from.descriptor(), name.c_str(), like.st_mode & kModeBits, 0) != 0) {
    return Failed(name, "chmod");
  }
  return opened;
}

}  // namespace

std::optional<Error> TreeCopier::Copy(const ScannedTree& from, int to, const PathSet& empty) {
  empty_ = &empty;
  auto own = DuplicateOf(to);
  if (!own) return own.error();
  trees_.emplace_back(std::move(*own));
  made_.clear();
  struct stat top {};
  if (fstat(from.root(), &top) != 0) return Failed("", "fstat");
  made_.push_back({"", top});
  TRY(EnterFrom(from, 0));
  for (int left = kMostRounds; gone_ == Gone::kIsPassedOver; --left) {
    const PathSet replaced = Replaced(from);
    if (replaced.empty()) break;
    if (left == 0) return KeepsChanging(*replaced.begin());
    Forget(replaced);
    const std::size_t first = made_.size();
    for (const std::string& path : replaced)
      TRY(Replace(from, path));
    TRY(EnterFrom(from, first));
  }
  for (auto made = made_.rbegin(); made != made_.rend(); ++made)
    TRY(Finish(*made));
  return std::nullopt;
}

std::optional<Error> TreeCopier::EnterFrom(const ScannedTree& from, std::size_t first) {
  for (std::size_t next = first; next < made_.size(); ++next) {
    Made made = made_[next];  // those that are found in it are put behind
    TRY(Enter(from, &made));
    made_[next].source = made.source;
  }
  return std::nullopt;
}

std::optional<Error> TreeCopier::Enter(const ScannedTree& from, Made* made) {
  TRY_ASSIGN(const auto source, from.OpenIfThere(made->path));
  if (!source && gone_ == Gone::kIsPassedOver) return std::nullopt;
  if (!source) return from.Open(made->path).error();
  TRY_ASSIGN(made->source, source->Look(""));
  TRY_ASSIGN(const auto target, tree().Open(made->path));
  const int to = target.descriptor();
  if (IsOthers(made->like) && fchown(to, made->like.st_uid, made->like.st_gid) != 0) {
    return Failed(made->path, "chown");
  }
  if (!CopyAllAttributes(source->descriptor(), to)) return Failed(made->path, "setxattr");
  TRY_ASSIGN(const auto names, source->Names());
  for (const std::string& name : names) {
    std::string path = made->path.empty() ? name : made->path + "/" + name;
    TRY(gone_ == Gone::kIsFault ? CopyEntry(*source, target, name, std::move(path))
                                : CopyLive(*source, target, name, path));
  }
  return std::nullopt;
}

// The directories, without those in them, in whose place something else or nothing is by now. Some
// of the names of one that was being removed were gone: an overlay would show the host's files of
// these names, which neither the directory nor what took its place has shown.
PathSet TreeCopier::Replaced(const ScannedTree& from) const {
  PathSet replaced;
  SpotView view(from);
  for (const Made& made : made_) {
    if (made.path.empty() || IsAtOrBelow(replaced, made.path)) continue;
    const auto now = view.At(made.path);
    const bool is_same =
        now && now.value().node && made.source && now.value().node->IsSameInode(*made.source);
    if (!is_same) replaced.insert(made.path);
  }
  return replaced;
}

void TreeCopier::Forget(const PathSet& replaced) {
  std::erase_if(made_, [&](const Made& made) { return IsAtOrBelow(replaced, made.path); });
  std::erase_if(files_, [&](const auto& each) {
    const First& first = each.second;
    return first.tree == trees_.size() - 1 && IsAtOrBelow(replaced, first.path);
  });
}

// Copies what the place of a directory has now, which may be nothing.
std::optional<Error> TreeCopier::Replace(const ScannedTree& from, const std::string& path) {
  const auto [parent, last] = SplitPath(path);
  const std::string name(last);
  TRY_ASSIGN(const auto target, tree().Open(parent));
  TRY_ASSIGN(auto own, DuplicateOf(target.descriptor()));
  const auto removed = RemoveEntry(Beneath::Of(std::move(own)), name, true);
  if (!removed && removed.error().kind == FileError::Kind::kSandbox) return removed.error().sandbox;
  if (!removed) return Failed(path, "rm", removed.error().number);
  TRY_ASSIGN(const auto source, from.OpenIfThere(parent));
  return source ? CopyLive(*source, target, name, path) : std::nullopt;
}

// Copies an entry, again where somebody replaces it meanwhile.
std::optional<Error> TreeCopier::CopyLive(const ScannedDirectory& from, const ScannedDirectory& to,
                                          const std::string& name, const std::string& path) {
  std::optional<Error> error;
  for (int left = kMostCopies; left > 0; --left) {
    struct stat before {};
    const int at = from.descriptor();
    const bool was_there = fstatat(at, name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
    if (!was_there && errno == ENOENT) return std::nullopt;
    error = CopyEntry(from, to, name, path);
    if (!error) return std::nullopt;
    struct stat now {};
    const bool is_same = fstatat(at, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
                         now.st_ino == before.st_ino && now.st_dev == before.st_dev;
    if (was_there && is_same) return error;
    files_.erase({before.st_dev, before.st_ino});
    if (unlinkat(to.descriptor(), name.c_str(), 0) != 0 && errno != ENOENT) return error;
  }
  return error;
}

std::optional<Error> TreeCopier::CopyEntry(const ScannedDirectory& from, const ScannedDirectory& to,
                                           const std::string& name, std::string path) {
  struct stat like {};
  if (fstatat(from.descriptor(), name.c_str(), &like, AT_SYMLINK_NOFOLLOW) != 0) {
    return Failed(path, "fstatat");
  }
  const int at = to.descriptor();
  if (S_ISDIR(like.st_mode)) {
    if (mkdirat(at, name.c_str(), S_IRWXU) != 0) return Failed(path, "mkdir");
    made_.push_back({std::move(path), like});
    return std::nullopt;
  }
  if (like.st_nlink > 1) {
    const auto is_linked = LinkToFirst(like, at, name);
    if (!is_linked) return is_linked.error();
    if (is_linked.value()) return std::nullopt;
    files_.insert_or_assign({like.st_dev, like.st_ino}, First{trees_.size() - 1, path});
  }
  if (S_ISREG(like.st_mode)) {
    const bool is_empty = like.st_nlink == 1 && empty_->count(path) > 0;
    return CopyFile(from, at, name, like, is_empty);
  }
  if (S_ISLNK(like.st_mode)) {
    const auto target = from.Target(name);
    if (!target) return target.error();
    if (symlinkat(target.value().c_str(), at, name.c_str()) != 0) return Failed(path, "symlink");
  } else if (mknodat(at, name.c_str(), like.st_mode, like.st_rdev) != 0) {
    return Failed(path, "mknod");
  }
  if (IsOthers(like) &&
      fchownat(at, name.c_str(), like.st_uid, like.st_gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return Failed(path, "chown");
  }
  if (!S_ISLNK(like.st_mode) && fchmodat(at, name.c_str(), like.st_mode & kModeBits, 0) != 0) {
    return Failed(path, "chmod");
  }
  if (utimensat(at, name.c_str(), TimesOf(like).data(), AT_SYMLINK_NOFOLLOW) != 0) {
    return Failed(path, "utimensat");
  }
  return std::nullopt;
}

// False also where it can have no more names: then it is copied once more.
Result<bool> TreeCopier::LinkToFirst(const struct stat& like, int to,
                                     const std::string& name) const {
  const auto found = files_.find({like.st_dev, like.st_ino});
  if (found == files_.end()) return false;
  const auto [parent, first] = SplitPath(found->second.path);
  const auto directory = trees_[found->second.tree].Open(parent);
  if (!directory) return directory.error();
  const int from = directory.value().descriptor();
  if (linkat(from, std::string(first).c_str(), to, name.c_str(), 0) == 0) return true;
  if (errno == EMLINK) return false;
  return Failed(name, "link");
}

std::optional<Error> TreeCopier::CopyFile(const ScannedDirectory& from, int to,
                                          const std::string& name, const struct stat& like,
                                          bool is_empty) const {
  const auto source = OpenToRead(from, name, like);
  if (!source) return source.error();
  const Descriptor made(openat(
      to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!made.valid()) return Failed(name, "open");
  CopyProgress unheard;
  const auto size = static_cast<std::uint64_t>(like.st_size);
  errno = is_empty ? 0 : CopyContents(source.value().get(), made.get(), size, &unheard);
  if (errno != 0) return Failed(name, "copy");
  if (IsOthers(like) && fchown(made.get(), like.st_uid, like.st_gid) != 0) {
    return Failed(name, "chown");
  }
  if (!CopyAllAttributes(source.value().get(), made.get())) return Failed(name, "setxattr");
  if (fchmod(made.get(), like.st_mode & kModeBits) != 0) return Failed(name, "chmod");
  if (futimens(made.get(), TimesOf(like).data()) != 0) return Failed(name, "utimensat");
  return std::nullopt;
}

std::optional<Error> TreeCopier::Finish(const Made& made) const {
  const auto directory = tree().Open(made.path);
  if (!directory) return directory.error();
  const int at = directory.value().descriptor();
  if (fchmod(at, made.like.st_mode & kModeBits) != 0) return Failed(made.path, "chmod");
  if (futimens(at, TimesOf(made.like).data()) != 0) return Failed(made.path, "utimensat");
  return std::nullopt;
}

namespace {

// Looks at one path of a tree after the other; its last directory stays open.
class Looks {
 public:
  explicit Looks(const ScannedTree& tree) : tree_(tree) {}

  Result<std::optional<Node>> At(const std::string& path) {
    const auto [parent, name] = SplitPath(path);
    if (!is_open_ || parent_ != parent) {
      directory_.reset();  // what it has let in is shut again before another looks at it
      auto opened = tree_.OpenIfThere(parent);
      if (!opened) return opened.error();
      if (*opened) directory_.emplace(std::move(**opened));
      parent_ = parent;
      is_open_ = true;
    }
    if (!directory_) return std::optional<Node>();
    return directory_->Look(std::string(name));
  }

 private:
  const ScannedTree& tree_;
  bool is_open_ = false;
  std::string parent_;
  std::optional<ScannedDirectory> directory_;
};

bool IsShut(const HostFile& file) {
  return S_ISREG(file.mode) && (file.mode & S_IRUSR) == 0 && geteuid() != 0;
}

// Of directories a manifest's attributes alone count.
Result<std::vector<std::string>> Unchanged(const ScannedTree& tree, ChangedBy who,
                                           const CopyManifest& manifest) {
  std::vector<std::string> paths;
  Looks looks(tree);
  for (const auto& [path, known] : manifest.copies) {
    if (known.is_directory()) continue;
    const auto node = looks.At(path);
    if (!node) return node.error();
    if (!node.value()) continue;
    const HostFile& now = *node.value();
    const bool is_same = who == ChangedBy::kNobody ? now.HasSameContent(known) : now == known;
    if (is_same) paths.push_back(path);
  }
  return paths;
}

std::optional<Error> Note(const ScannedTree& tree, const std::vector<std::string>& paths,
                          CopyManifest* manifest) {
  Looks looks(tree);
  for (const std::string& path : paths) {
    const auto node = looks.At(path);
    if (!node) return node.error();
    if (node.value()) manifest->copies[path] = *node.value();
  }
  return std::nullopt;
}

// Equal to no file that there can be, since none has the inode 0. Mode and owner are still what a
// changed file's are compared with (AsOnHost).
CopyManifest LikeNothing(const CopyManifest& manifest) {
  CopyManifest unlike;
  for (const auto& [path, known] : manifest.copies) {
    HostFile attributes;
    attributes.mode = known.mode;
    attributes.uid = known.uid;
    attributes.gid = known.gid;
    unlike.copies.emplace_hint(unlike.copies.end(), path, attributes);
  }
  return unlike;
}

}  // namespace

bool HasShutFiles(const CopyManifest& manifest) {
  return std::any_of(manifest.copies.begin(), manifest.copies.end(),
                     [](const auto& each) { return IsShut(each.second); });
}

Result<CopyManifest> CopyOnceMore(const ScannedTree& from, ChangedBy who, int to,
                                  CopyManifest* manifest, const PathSet& empty) {
  auto unchanged = Unchanged(from, who, *manifest);
  if (!unchanged) return unchanged.error();
  const bool is_live = who == ChangedBy::kRunning;
  using Gone = TreeCopier::Gone;
  auto failed = TreeCopier(is_live ? Gone::kIsPassedOver : Gone::kIsFault).Copy(from, to, empty);
  WaitForTick();
  if (is_live && !failed) {
    // A file that is still as it was has been so while it was copied.
    const auto still = Unchanged(from, who, *manifest);
    if (!still) return still.error();
    const std::set<std::string> kept(still.value().begin(), still.value().end());
    std::erase_if(*unchanged, [&kept](const auto& path) { return kept.count(path) == 0; });
  }
  std::vector<std::string> shut;
  for (const std::string& path : unchanged.value())
    if (IsShut(manifest->copies[path])) shut.push_back(path);
  if (auto error = Note(from, shut, manifest)) return *error;
  if (failed) return *failed;
  auto own = DuplicateOf(to);
  if (!own) return own.error();
  CopyManifest made = LikeNothing(*manifest);
  if (auto error = Note(ScannedTree(std::move(*own), true), unchanged.value(), &made)) {
    return *error;
  }
  return made;
}

}  // namespace native_runner

#include "workspace/copy/copy_entry.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "policy/transaction/file_times.h"
#include "supervise/os/file.h"
#include "workspace/changes/noted_contents.h"
#include "workspace/changes/same_file.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/stopping.h"

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

}  // namespace native_runner

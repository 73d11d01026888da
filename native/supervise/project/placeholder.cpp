#include "supervise/project/placeholder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "supervise/os/file.h"

namespace native_runner {
namespace {

// Grants the owner of a directory, if that is our user, write and search permission for the
// lifetime of this object. Then restores the mode, unless it was changed meanwhile. A command may
// remove these permissions (chmod 555 .), but our entries there must be removed all the same. Works
// on a descriptor, without path look-up. Any thread.
class OwnerAccess {
 public:
  // `directory` may be O_PATH, and must outlive this.
  explicit OwnerAccess(int directory);
  OwnerAccess(const OwnerAccess&) = delete;
  OwnerAccess& operator=(const OwnerAccess&) = delete;
  ~OwnerAccess();

 private:
  int directory_;
  mode_t before_ = 0;
  mode_t given_ = 0;  // 0: not needed, or not permitted
};

constexpr mode_t kAccess = S_IWUSR | S_IXUSR;
constexpr mode_t kModeBits = 07777;

std::optional<mode_t> OwnModeOf(int directory) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_MODE | STATX_UID;
  if (statx(directory, "", AT_EMPTY_PATH, kWanted, &status) != 0) return std::nullopt;
  if (status.stx_uid != geteuid()) return std::nullopt;
  return status.stx_mode & kModeBits;
}

OwnerAccess::OwnerAccess(int directory) : directory_(directory) {
  const auto mode = OwnModeOf(directory);
  if (geteuid() == 0 || !mode || (*mode & kAccess) == kAccess) return;
  before_ = *mode;
  if (SetModeOf(directory, before_ | kAccess)) given_ = before_ | kAccess;
}

OwnerAccess::~OwnerAccess() {
  if (given_ != 0 && OwnModeOf(directory_) == given_) SetModeOf(directory_, before_);
}

constexpr mode_t kDirectoryMode = S_ISVTX | S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
constexpr mode_t kFileMode = S_ISVTX | S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
constexpr int kTries = 1000;  // each is lost to another run that just removed the entry

// Does not block on a FIFO in its place.
Descriptor OpenEntry(int parent, const std::string& name, bool is_file) {
  const int only = is_file ? O_NONBLOCK : O_DIRECTORY;
  return Descriptor(openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | only));
}

bool IsEmptyDirectory(int directory) {
  DIR* entries = fdopendir(fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (entries == nullptr) return false;
  rewinddir(entries);
  bool empty = true;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    empty = empty && (name == "." || name == "..");
  }
  closedir(entries);
  return empty;
}

// Uses statx: fstat(2) and its like need a newer C library than the package promises.
bool Look(int directory, const char* name, struct statx* status) {
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  return statx(directory, name, kFlags, STATX_BASIC_STATS, status) == 0;
}

bool HasText(int file, std::string_view text) {
  std::string read(text.size() + 1, '\0');
  const ssize_t size = pread(file, read.data(), read.size(), 0);
  return size >= 0 && std::string_view(read).substr(0, static_cast<std::size_t>(size)) == text;
}

bool HasMark(int entry, bool is_file) {
  struct statx status {};
  return Look(entry, "", &status) && status.stx_uid == geteuid() &&
         (is_file ? S_ISREG(status.stx_mode) : S_ISDIR(status.stx_mode)) &&
         (status.stx_mode & (S_ISVTX | S_IWGRP | S_IWOTH)) == S_ISVTX;
}

bool IsUntouched(int entry, Placeholder::Form form) {
  if (form.is_file) return HasText(entry, form.text);
  return form.may_be_filled || IsEmptyDirectory(entry);
}

// Makes a file that appears under its name only when its text is complete.
int MakeFile(int parent, const std::string& name, std::string_view text) {
  const std::string made = "." + name + ".native-runner-" + std::to_string(syscall(SYS_gettid));
  unlinkat(parent, made.c_str(), 0);  // left by a process that was killed in between
  const Descriptor file(openat(parent, made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
  if (!file.valid()) return errno;
  int error = 0;
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fchmod(file.get(), kFileMode) != 0 ||
      linkat(parent, made.c_str(), parent, name.c_str(), 0) != 0) {
    error = errno;
  }
  unlinkat(parent, made.c_str(), 0);
  return error;
}

int Make(int parent, const std::string& name, Placeholder::Form form) {
  if (form.is_file) return MakeFile(parent, name, form.text);
  return mkdirat(parent, name.c_str(), kDirectoryMode) == 0 ? 0 : errno;
}

}  // namespace

bool Placeholder::IsOne(int parent, const std::string& name, Form form) {
  const Descriptor entry = OpenEntry(parent, name, form.is_file);
  return entry.valid() && HasMark(entry.get(), form.is_file) && IsUntouched(entry.get(), form);
}

Result<std::optional<Placeholder>> Placeholder::Take(int parent, const std::string& name,
                                                     Form form) {
  using Taken = std::optional<Placeholder>;
  const OwnerAccess access(parent);
  for (int i = 0; i < kTries; ++i) {
    const int error = Make(parent, name, form);
    // ENOENT: a process of another pid namespace has used the same temporary name meanwhile.
    if (error != 0 && error != EEXIST && error != ENOENT)
      return SystemError(("make " + name).c_str(), error);
    Descriptor entry = OpenEntry(parent, name, form.is_file);
    if (!entry.valid() && errno != ENOENT) return Taken{};
    if (entry.valid()) {
      if (!HasMark(entry.get(), form.is_file) || !IsUntouched(entry.get(), form)) return Taken{};
      const bool locked = flock(entry.get(), LOCK_SH | LOCK_NB) == 0;
      if (!locked && errno != EWOULDBLOCK) return SystemError("flock", errno);
      if (locked && IsNamed(parent, name, entry.get())) {
        Descriptor own(fcntl(parent, F_DUPFD_CLOEXEC, 0));
        if (!own.valid()) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
        return Taken{Placeholder(std::move(own), std::move(entry), name, form)};
      }
    }
    sched_yield();
  }
  return Error{ErrorCode::kSetup, "cannot hold a placeholder for " + name, "run the command again"};
}

bool Placeholder::FinishLeft(int parent, const std::string& name,
                             const std::function<bool(int entry)>& last) {
  const OwnerAccess access(parent);
  const Descriptor entry = OpenEntry(parent, name, false);
  if (!entry.valid() || !HasMark(entry.get(), false)) return false;
  if (flock(entry.get(), LOCK_EX | LOCK_NB) != 0 || !IsNamed(parent, name, entry.get()))
    return false;
  if (!last(entry.get())) return false;
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) {
    fchmod(entry.get(), kDirectoryMode & ~mode_t{S_ISVTX});
  }
  return true;
}

Placeholder::~Placeholder() {
  if (!entry_.valid()) return;
  if (flock(entry_.get(), LOCK_EX | LOCK_NB) != 0) return;  // another run needs it
  for (int i = 0; i < kTries; ++i) {
    const OwnerAccess access(parent_.get());
    if (!IsNamed(parent_.get(), name_, entry_.get())) return;
    if (form_.is_file && !IsUntouched(entry_.get(), form_)) return;
    if (last_ && !last_(entry_.get())) return;
    if (unlinkat(parent_.get(), name_.c_str(), form_.is_file ? 0 : AT_REMOVEDIR) == 0) return;
    // A directory that is no longer empty stays, and is the user's from now on.
    if (errno == ENOTEMPTY && form_.may_be_filled)
      fchmod(entry_.get(), kDirectoryMode & ~mode_t{S_ISVTX});
    if (errno != EACCES) return;  // EACCES: another run has just restored the mode of the parent
    sched_yield();
  }
}

}  // namespace native_runner

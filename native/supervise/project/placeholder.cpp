#include "supervise/project/placeholder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "supervise/os/statx.h"
#include "supervise/project/owner_access.h"

namespace native_runner {
namespace {

constexpr mode_t kDirectoryMode = S_ISVTX | S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
constexpr mode_t kFileMode = S_ISVTX | S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
constexpr int kTries = 1000;  // each lost to another run that just removed it

// A fifo in its place must not keep us.
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

// Not fstat(2) and its like: those need a newer C library than the package promises.
bool Look(int directory, const char* name, struct statx* status) {
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
  return statx(directory, name, kFlags, STATX_BASIC_STATS, status) == 0;
}

bool HasText(int file, std::string_view text) {
  std::array<char, 16> read{};
  const ssize_t size = pread(file, read.data(), read.size(), 0);
  return size >= 0 && std::string_view(read.data(), static_cast<std::size_t>(size)) == text;
}

bool HasMark(int entry, bool is_file) {
  struct statx status {};
  return Look(entry, "", &status) && status.stx_uid == geteuid() &&
         (is_file ? S_ISREG(status.stx_mode) : S_ISDIR(status.stx_mode)) &&
         (status.stx_mode & (S_ISVTX | S_IWGRP | S_IWOTH)) == S_ISVTX;
}

bool IsUntouched(int entry, Placeholder::Form form) {
  return form.is_file ? HasText(entry, form.text) : IsEmptyDirectory(entry);
}

bool IsStillThere(int parent, const std::string& name, int entry) {
  struct statx there {};
  struct statx ours {};
  return Look(parent, name.c_str(), &there) && Look(entry, "", &ours) &&
         there.stx_ino == ours.stx_ino && there.stx_dev_major == ours.stx_dev_major &&
         there.stx_dev_minor == ours.stx_dev_minor;
}

// Nobody sees it without its text: it gets its name when it has that.
int MakeFile(int parent, const std::string& name, std::string_view text) {
  const std::string made = "." + name + ".native-runner-" + std::to_string(syscall(SYS_gettid));
  unlinkat(parent, made.c_str(), 0);  // of a process that was killed in between
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
    // ENOENT: a process of another pid namespace has used the same name meanwhile.
    if (error != 0 && error != EEXIST && error != ENOENT)
      return SystemError(("make " + name).c_str(), error);
    Descriptor entry = OpenEntry(parent, name, form.is_file);
    if (!entry.valid() && errno != ENOENT) return Taken{};
    if (entry.valid()) {
      if (!HasMark(entry.get(), form.is_file) || !IsUntouched(entry.get(), form)) return Taken{};
      const bool locked = flock(entry.get(), LOCK_SH | LOCK_NB) == 0;
      if (!locked && errno != EWOULDBLOCK) return SystemError("flock", errno);
      if (locked && IsStillThere(parent, name, entry.get())) {
        Descriptor own(fcntl(parent, F_DUPFD_CLOEXEC, 0));
        if (!own.valid()) return SystemError("fcntl(F_DUPFD_CLOEXEC)", errno);
        return Taken{Placeholder(std::move(own), std::move(entry), name, form)};
      }
    }
    sched_yield();
  }
  return Error{ErrorCode::kSetup, "cannot hold a placeholder for " + name, "run the command again"};
}

Placeholder::~Placeholder() {
  if (!entry_.valid()) return;
  if (flock(entry_.get(), LOCK_EX | LOCK_NB) != 0) return;  // another run counts on it
  for (int i = 0; i < kTries; ++i) {
    const OwnerAccess access(parent_.get());
    if (!IsStillThere(parent_.get(), name_, entry_.get())) return;
    if (form_.is_file && !IsUntouched(entry_.get(), form_)) return;
    // A directory stays when it is no longer empty.
    if (unlinkat(parent_.get(), name_.c_str(), form_.is_file ? 0 : AT_REMOVEDIR) == 0) return;
    if (errno != EACCES) return;  // else another run has just put the mode above back
    sched_yield();
  }
}

}  // namespace native_runner

#include "supervise/project/git_exclude.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "supervise/os/file.h"

namespace native_runner {
namespace {

constexpr std::string_view kBegin = "# native-runner, while a command runs:\n";
// After a last line without an end, which has none again when the block is gone.
constexpr std::string_view kBeginAfter = "\n# native-runner, while a command runs, after a line:\n";
constexpr std::string_view kEnd = "# native-runner: end\n";
constexpr std::size_t kMostExcludeBytes = std::size_t{1} << 20U;
constexpr int kExcludeTries = 1000;  // each is lost to a run that is taking its block out
constexpr const char* kExclude = "exclude";
constexpr const char* kReplacement = "exclude.native-runner";

// Returns nullopt for a longer file.
std::optional<std::string> ReadExclude(int file) {
  std::string text(kMostExcludeBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got =
        pread(file, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0) return std::nullopt;
    if (got == 0) {
      text.resize(size);
      return text;
    }
    size += static_cast<std::size_t>(got);
  }
  return std::nullopt;
}

std::string PatternOf(std::string_view name) {
  std::string pattern = "/";
  for (const char each : name) {
    if (std::string_view("*?[\\ ").find(each) != std::string_view::npos) pattern += '\\';
    pattern += each;
  }
  return pattern + "\n";
}

std::string BlockOf(const std::vector<std::string>& names) {
  std::string block;
  for (const std::string& name : names) {
    if (name.find('\n') == std::string::npos) block += PatternOf(name);
  }
  block += kEnd;
  return block;
}

std::size_t FirstBlock(const std::string& text) {
  return std::min(text.find(kBegin), text.find(kBeginAfter));
}

// Takes all blocks out of a text, but none of which the user has removed the end.
void TakeBlocksOut(std::string* text) {
  for (std::size_t begin = FirstBlock(*text); begin != std::string::npos;
       begin = FirstBlock(*text)) {
    const std::size_t end = text->find(kEnd, begin);
    if (end == std::string::npos) return;
    text->erase(begin, end + kEnd.size() - begin);
  }
}

// Not flock(2): a placeholder of the same file has its lock.
bool Lock(int file, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

bool IsRegular(int file) {
  struct statx status {};
  return statx(file, "", AT_EMPTY_PATH, STATX_TYPE, &status) == 0 && S_ISREG(status.stx_mode);
}

// Opens and locks the file. Another run may replace it before it is locked.
Descriptor OpenLocked(int parent) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  for (int i = 0; i < kExcludeTries; ++i) {
    Descriptor file(openat(parent, kExclude, kFlags));
    if (!file.valid() || !IsRegular(file.get())) break;
    if (Lock(file.get(), F_RDLCK)) {
      if (IsNamed(parent, kExclude, file.get())) return file;
    } else if (errno != EAGAIN) {
      break;
    }
    sched_yield();
  }
  return {};
}

bool Write(int file, std::string_view text) {
  return write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Appends all of a text or nothing.
bool Append(int file, std::size_t size, const std::string& text) {
  if (Write(file, text)) return true;
  static_cast<void>(ftruncate(file, static_cast<off_t>(size)));
  return false;
}

// Makes the replacement, with the owner and the mode of `file`.
bool MakeReplacement(int parent, int file, std::string_view text) {
  struct statx status {};
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor made(openat(parent, kReplacement, kFlags, 0600));
  return made.valid() && statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) == 0 &&
         fchown(made.get(), status.stx_uid, status.stx_gid) == 0 &&
         fchmod(made.get(), status.stx_mode & 07777) == 0 && Write(made.get(), text) &&
         fsync(made.get()) == 0;
}

// Gives the file, which is locked by nobody else, a new text that is not only a shorter one. A
// process that is killed meanwhile leaves the old text or the new one.
void Replace(int parent, int file, std::string_view text) {
  unlinkat(parent, kReplacement, 0);  // of a process that was killed
  if (MakeReplacement(parent, file, text) && IsNamed(parent, kExclude, file) &&
      renameat(parent, kReplacement, parent, kExclude) == 0) {
    return;
  }
  unlinkat(parent, kReplacement, 0);
}

}  // namespace

std::optional<GitExclude> GitExclude::Add(int parent, const std::vector<std::string>& names) {
  auto directory = DuplicateOf(parent);
  Descriptor file = OpenLocked(parent);
  if (!directory || !file.valid()) return std::nullopt;
  const auto text = ReadExclude(file.get());
  if (!text) return std::nullopt;
  const std::string block = BlockOf(names);
  if (text->find(block) == std::string::npos) {
    const bool is_after = !text->empty() && text->back() != '\n';
    const std::string added = std::string(is_after ? kBeginAfter : kBegin) + block;
    if (!Append(file.get(), text->size(), added)) return std::nullopt;
  }
  return GitExclude(std::move(*directory), std::move(file));
}

GitExclude::~GitExclude() {
  if (!file_.valid()) return;
  // An editor that was open meanwhile may have saved the block as part of a new file.
  if (!IsNamed(parent_.get(), kExclude, file_.get())) file_ = OpenLocked(parent_.get());
  if (!file_.valid() || !Lock(file_.get(), F_WRLCK)) return;
  const auto text = ReadExclude(file_.get());
  if (!text) return;
  const std::size_t first = FirstBlock(*text);
  if (first == std::string::npos) return;
  std::string rest = *text;
  TakeBlocksOut(&rest);
  if (rest.size() == first) {
    static_cast<void>(ftruncate(file_.get(), static_cast<off_t>(first)));
  } else if (rest != *text) {
    Replace(parent_.get(), file_.get(), rest);
  }
}

}  // namespace native_runner

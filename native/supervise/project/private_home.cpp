#include "supervise/project/private_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/file.h"

namespace native_runner {
namespace {

constexpr const char* kHomeName = "home";
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kAtOnce = 256;  // entries, well under a millisecond
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Calls `each` with the name of each entry until it returns false. `directory` stays open.
template <typename Each>
void ForEachName(int directory, Each each) {
  DIR* const entries = fdopendir(openat(directory, ".", kDirectoryFlags));
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !each(entry->d_name)) break;
  }
  closedir(entries);
}

// Opens a directory that a command may have closed to its owner. By descriptor: a command of a host
// that was killed may still run, and put a link in the directory's place.
Descriptor OpenDirectory(int above, const char* name) {
  const Descriptor found(openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!found.valid() || fstat(found.get(), &status) != 0) return {};
  if ((status.st_mode & S_IRWXU) != S_IRWXU) static_cast<void>(SetModeOf(found.get(), S_IRWXU));
  return Descriptor(openat(found.get(), ".", kDirectoryFlags));
}

// Empties a directory without recursion, as a command may have nested its directories deeper than
// any stack: a directory that holds others gives them to the top one before it is removed.
class Emptier {
 public:
  Emptier(int top, std::size_t most) : top_(top), left_(most) {}

  // Returns true if the directory is empty; false after `most` entries, or if one can't be removed.
  bool Empty() {
    for (;;) {
      bool is_empty = true;
      bool is_going = true;
      ForEachName(top_, [&](const char* name) {
        is_empty = false;
        is_going = RemoveFromTop(name);
        return is_going;
      });
      if (is_empty) return true;
      if (!is_going) return false;
    }
  }

 private:
  bool Spend() { return left_ != 0 && left_-- != 0; }

  // Returns true if the entry is gone.
  static bool Remove(int directory, const char* name) {
    if (unlinkat(directory, name, 0) == 0) return true;
    if (errno != EISDIR && errno != EPERM) return errno == ENOENT;
    return unlinkat(directory, name, AT_REMOVEDIR) == 0;
  }

  bool RemoveFromTop(const char* name) {
    if (!Spend()) return false;
    if (Remove(top_, name)) return true;
    const Descriptor directory = OpenDirectory(top_, name);
    if (!directory.valid()) return false;
    bool is_going = true;
    ForEachName(directory.get(), [&](const char* below) {
      is_going = Spend() && (Remove(directory.get(), below) || Raise(directory.get(), below));
      return is_going;
    });
    return is_going && unlinkat(top_, name, AT_REMOVEDIR) == 0;
  }

  // Moves a directory into the top one, under a name that is free there.
  bool Raise(int above, const char* name) {
    // A directory that is moved to another must be writable, for its "..".
    if (!OpenDirectory(above, name).valid()) return false;
    for (;;) {
      const std::string free = ".raised-" + std::to_string(raised_++);
      if (renameat(above, name, top_, free.c_str()) == 0) return true;
      if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return false;
    }
  }

  int top_;
  std::size_t left_;
  std::uint64_t raised_ = 0;
};

// Removes ID with all that is in it. Returns false after `most` entries, or if that can't be done.
bool RemoveHome(int homes, const char* id, int directory, std::size_t most) {
  const Descriptor home = OpenDirectory(directory, kHomeName);
  if (home.valid() && !Emptier(home.get(), most).Empty()) return false;
  static_cast<void>(unlinkat(directory, kHomeName, AT_REMOVEDIR));
  return unlinkat(homes, id, AT_REMOVEDIR) == 0;
}

std::string RandomName() {
  std::array<unsigned char, 8> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string name;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    name.push_back(kDigits[byte / kDigits.size()]);
    name.push_back(kDigits[byte % kDigits.size()]);
  }
  return name;
}

// Makes ID/ and locks it. A cleaner may have taken it for a left one in between, and removed it:
// then making what is below it fails.
Descriptor MakeLocked(int homes, const std::string& id) {
  if (mkdirat(homes, id.c_str(), S_IRWXU) != 0) return {};
  Descriptor made(openat(homes, id.c_str(), kDirectoryFlags));
  if (!made.valid() || flock(made.get(), LOCK_EX) != 0) return {};
  if (mkdirat(made.get(), kHomeName, S_IRWXU) != 0) return {};
  return made;
}

bool WriteFile(int directory, const char* name, const std::string& text) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Descriptor file(openat(directory, name, kFlags, S_IRUSR | S_IWUSR));
  return file.valid() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Error NotMade(const std::string& homes, int error) {
  return {ErrorCode::kSetup,
          "no home can be made in " + QuotedShort(homes) + ": " + std::strerror(error),
          "make it writable, set XDG_STATE_HOME to a directory elsewhere, or use another `home`"};
}

}  // namespace

Result<std::shared_ptr<const PrivateHome>> PrivateHome::Make(const std::string& homes,
                                                             const std::string& git_config,
                                                             FileThreads* files, bool answers) {
  NotePath(homes);
  static_cast<void>(mkdir(homes.c_str(), S_IRWXU));  // if it was removed since lib has found it
  const Descriptor all(open(homes.c_str(), kDirectoryFlags));
  struct stat status {};
  if (!all.valid() || fstat(all.get(), &status) != 0) return NotMade(homes, errno);
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return NotMade(homes, EPERM);
  }
  std::shared_ptr<PrivateHome> made(new PrivateHome());
  made->homes_ = homes;
  made->files_ = files;
  made->answers_ = answers;
  constexpr int kMostNames = 3;  // a name that is taken, or was taken by a cleaner, is given up
  for (int tried = 0; tried < kMostNames && !made->directory_.valid(); ++tried) {
    made->id_ = RandomName();
    made->directory_ = MakeLocked(all.get(), made->id_);
  }
  if (!made->directory_.valid()) return NotMade(homes, errno);
  made->path_ = JoinPath(JoinPath(homes, made->id_), kHomeName);
  const Descriptor home(openat(made->directory_.get(), kHomeName, kDirectoryFlags));
  if (!home.valid()) return NotMade(homes, errno);
  if (!git_config.empty() && !WriteFile(home.get(), ".gitconfig", git_config)) {
    return NotMade(homes, errno);
  }
  return Result<std::shared_ptr<const PrivateHome>>(std::move(made));
}

PrivateHome::~PrivateHome() {
  if (!directory_.valid()) return;
  if (answers_ || files_ == nullptr) {
    const Descriptor all(open(homes_.c_str(), kDirectoryFlags));
    if (RemoveHome(all.get(), id_.c_str(), directory_.get(), kAtOnce)) return;
  }
  if (files_ == nullptr) return;
  // The lock goes with the work, and with the process.
  const auto directory = std::make_shared<Descriptor>(std::move(directory_));
  const auto remove = [homes = homes_, id = id_, directory] {
    NotePath(homes);
    const Descriptor all(open(homes.c_str(), kDirectoryFlags));
    static_cast<void>(RemoveHome(all.get(), id.c_str(), directory->get(), kAll));
  };
  files_->Do(directory.get(), remove, [](const std::optional<Error>& /*late*/) {});
}

void RemoveLeftHomes(const std::string& homes) {
  NotePath(homes);
  const Descriptor all(open(homes.c_str(), kDirectoryFlags));
  if (!all.valid()) return;
  ForEachName(all.get(), [&all](const char* id) {
    const Descriptor left(openat(all.get(), id, kDirectoryFlags));
    if (left.valid() && flock(left.get(), LOCK_EX | LOCK_NB) == 0) {
      static_cast<void>(RemoveHome(all.get(), id, left.get(), kAll));
    }
    return true;
  });
}

}  // namespace native_runner

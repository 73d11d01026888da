#include "launcher/command/directory_move.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/text.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

namespace native_runner {
namespace {

// The entries of a directory open for reading, without "." and "..", read without allocating. The
// caller owns the descriptor, and no other code may read from it meanwhile.
class DirectoryEntries {
 public:
  // Starts with the first entry.
  explicit DirectoryEntries(int directory);

  // Advances to the next entry. Returns 1 if there is one, 0 at the end, or -errno.
  long Next();

  // The current entry's name; valid until the next call of Next().
  const char* name() const { return name_; }
  bool is_directory() const;

 private:
  int directory_;
  const char* name_ = nullptr;
  unsigned char type_ = 0;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  alignas(8) char bytes_[2048];
};

// Offsets in a record of getdents64(2): u64 inode, s64 offset, u16 size, u8 type, name.
constexpr std::size_t kSizeOffset = 16;
constexpr std::size_t kTypeOffset = 18;
constexpr std::size_t kNameOffset = 19;

bool IsDots(const char* name) {
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has written it
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): only `filled_` bytes are valid
DirectoryEntries::DirectoryEntries(int directory) : directory_(directory) {
  kernel::Rewind(directory);
}

long DirectoryEntries::Next() {
  do {
    if (position_ == filled_) {
      const long got = kernel::ReadDirectory(directory_, bytes_, sizeof bytes_);
      if (got <= 0) return got;
      position_ = 0;
      filled_ = static_cast<std::size_t>(got);
    }
    const char* const record = bytes_ + position_;
    std::uint16_t size = 0;
    std::memcpy(&size, record + kSizeOffset, sizeof size);
    std::memcpy(&type_, record + kTypeOffset, sizeof type_);
    name_ = record + kNameOffset;
    position_ += size;
  } while (IsDots(name_));
  return 1;
}

bool DirectoryEntries::is_directory() const {
  if (type_ != DT_UNKNOWN) return type_ == DT_DIR;
  struct stat status {};
  return kernel::StatEntry(directory_, name_, &status) == 0 && S_ISDIR(status.st_mode);
}

// A directory whose entries are to be moved, opened for reading whatever its mode. Leave() restores
// its mode and times. Uses no heap, and closes nothing by itself.
class EnteredDirectory {
 public:
  // Opens the directory `name` in `parent`. Returns 0, or -errno: -ENOTDIR for anything else, links
  // included; -EXDEV if something is mounted on it.
  long Enter(int parent, const char* name);

  // As Enter(), but creates a missing directory first, with the mode, group, times and attributes
  // of `model`.
  long MakeOrEnter(int parent, const char* name, const EnteredDirectory& model);

  // Restores the mode and times that the directory, or its model, had on entry, and closes it.
  void Leave();

  int descriptor() const { return directory_; }

 private:
  long CopyFrom(const EnteredDirectory& model);

  int directory_ = -1;
  struct stat status_ {};
};

constexpr mode_t kModes = 07777;
constexpr const char* kAcls[] = {"system.posix_acl_access", "system.posix_acl_default"};

bool KeepsOut(const struct stat& status) {
  return (status.st_mode & S_IRWXU) != S_IRWXU && status.st_uid == kernel::UserId();
}

// Gives the owner access to a directory that is open as O_PATH. Uses the descriptor's path, as
// fchmod(2) refuses O_PATH descriptors and the name may be another file's by now.
long LetIn(int place, mode_t mode) {
  FixedText<32> path;
  path.Add("/proc/self/fd/").AddNumber(place);
  return kernel::SetMode(path.c_str(), mode | S_IRWXU);
}

bool StartsWith(const char* text, const char* start) {
  return std::memcmp(text, start, std::strlen(start)) == 0;
}

bool IsKept(const char* name) {
  return StartsWith(name, "user.") || StartsWith(name, "system.posix_acl_");
}

// Copies the user's attributes and access control lists.
long CopyAttributes(int from, int to) {
  constexpr std::size_t kMost = 65536;  // XATTR_LIST_MAX, XATTR_SIZE_MAX
  static char names[kMost + 32];        // lets IsKept() read past the last name
  static char value[kMost];
  const long size = kernel::ListAttributes(from, names, kMost);
  if (size < 0) return size == -EOPNOTSUPP ? 0 : size;
  for (const char* name = names; name < names + size; name += std::strlen(name) + 1) {
    if (!IsKept(name)) continue;
    const long got = kernel::GetAttribute(from, name, value, kMost);
    if (got == -ENODATA) continue;
    const long result =
        got < 0 ? got : kernel::SetAttribute(to, name, value, static_cast<std::size_t>(got));
    if (result < 0) return result;
  }
  return 0;
}

long EnteredDirectory::Enter(int parent, const char* name) {
  const int place = kernel::OpenEntry(parent, name, O_PATH | O_DIRECTORY);
  if (place < 0) return place;
  long result = kernel::Stat(place, &status_);
  if (result == 0 && KeepsOut(status_)) result = LetIn(place, status_.st_mode & kModes);
  if (result == 0) result = kernel::OpenAt(place, ".", O_RDONLY | O_DIRECTORY, 0);
  kernel::Close(place);
  directory_ = static_cast<int>(result);
  return result < 0 ? result : 0;
}

long EnteredDirectory::MakeOrEnter(int parent, const char* name, const EnteredDirectory& model) {
  const long made = kernel::MakeDirectory(parent, name, S_IRWXU);
  if (made != 0 && made != -EEXIST) return made;
  long result = Enter(parent, name);
  if (result == 0 && made == 0) result = CopyFrom(model);
  if (result == 0) return 0;
  if (directory_ >= 0) kernel::Close(directory_);
  if (made == 0) kernel::RemoveDirectory(parent, name);
  return result;
}

// Removes access control lists that it inherited from its parent: a list is part of the mode.
long EnteredDirectory::CopyFrom(const EnteredDirectory& model) {
  const struct stat& as = model.status_;
  if (as.st_uid != status_.st_uid) return -EPERM;
  for (const char* list : kAcls)
    kernel::RemoveAttribute(directory_, list);
  long result = 0;
  if (as.st_gid != status_.st_gid) result = kernel::SetGroup(directory_, as.st_gid);
  if (result == 0) result = CopyAttributes(model.directory_, directory_);
  if (result == 0) result = kernel::SetMode(directory_, (as.st_mode & kModes) | S_IRWXU);
  status_ = as;
  return result;
}

void EnteredDirectory::Leave() {
  if (KeepsOut(status_)) kernel::SetMode(directory_, status_.st_mode & kModes);
  kernel::SetTimes(directory_, status_);
  kernel::Close(directory_);
}

// Each level takes two descriptors and some stack.
constexpr unsigned kMostLevels = 128;
// Bounds the wait for processes that fill a directory as fast as it is emptied.
constexpr int kMostRounds = 4;

enum class Way {
  kAway,  // keeps the directories, which a failure needs again
  kBack,  // removes each directory once it is empty
  kRest,  // as kBack, and later entries replace earlier ones
};

long MoveEntries(int from, int to, Way way, unsigned level);

long MoveSubdirectory(int from, int to, const char* name, Way way, unsigned level) {
  EnteredDirectory old;
  EnteredDirectory made;
  long result = old.Enter(from, name);
  if (result != 0) return result;
  result = made.MakeOrEnter(to, name, old);
  if (result == 0) {
    result = MoveEntries(old.descriptor(), made.descriptor(), way, level + 1);
    made.Leave();
  }
  old.Leave();
  return result != 0 || way == Way::kAway ? result : kernel::RemoveDirectory(from, name);
}

// With kAway the first failure ends the move; otherwise as much is moved as possible.
long MoveEntries(int from, int to, Way way, unsigned level) {
  if (level > kMostLevels || (level == kMostLevels && way == Way::kAway)) return -ELOOP;
  const unsigned flags = way == Way::kRest ? 0 : RENAME_NOREPLACE;
  long failure = 0;
  bool again = true;  // a listing may skip a name while other processes add and remove names
  for (int round = 0; again && round < kMostRounds; ++round) {
    again = false;
    DirectoryEntries entries(from);
    for (long next = 0; (next = entries.Next()) != 0;) {
      if (next < 0) return next;
      const bool is_directory = entries.is_directory();
      if (is_directory && round > 0 && way == Way::kAway) continue;
      const long result = is_directory
                              ? MoveSubdirectory(from, to, entries.name(), way, level)
                              : kernel::Rename(from, entries.name(), to, entries.name(), flags);
      if (result == 0 && !is_directory) again = true;
      if (result == 0 || result == -ENOENT) continue;
      if (way == Way::kAway) return result;
      failure = result;
    }
  }
  return failure;
}

// True if the destination has entries. The overlay returns EXDEV before it checks this.
bool IsFilled(const Place& to) {
  const int there = kernel::OpenEntry(to.directory, to.name, O_RDONLY | O_DIRECTORY);
  if (there < 0) return false;
  const bool is_filled = DirectoryEntries(there).Next() > 0;
  kernel::Close(there);
  return is_filled;
}

long Reported(long error) {
  constexpr long kReported[] = {-ENOTEMPTY, -EEXIST, -ENOSPC, -EDQUOT, -EIO};
  for (const long each : kReported)
    if (error == each) return error;
  return -EXDEV;
}

}  // namespace

long MoveDirectory(const Place& from, const Place& to, const char* temporary, unsigned flags) {
  if (IsFilled(to)) return -ENOTEMPTY;
  EnteredDirectory old;
  EnteredDirectory made;
  long result = old.Enter(from.directory, from.name);
  if (result != 0) return Reported(result);
  result = made.MakeOrEnter(to.directory, temporary, old);
  if (result != 0) {
    old.Leave();
    return Reported(result);
  }
  result = MoveEntries(old.descriptor(), made.descriptor(), Way::kAway, 0);
  if (result == 0) {
    result = kernel::Rename(to.directory, temporary, to.directory, to.name, flags);
  }
  if (result == 0) {
    MoveEntries(old.descriptor(), made.descriptor(), Way::kRest, 0);
  } else {
    MoveEntries(made.descriptor(), old.descriptor(), Way::kBack, 0);
  }
  made.Leave();
  old.Leave();
  if (result == 0) {
    kernel::RemoveDirectory(from.directory, from.name);
    return 0;
  }
  const long removed = kernel::RemoveDirectory(to.directory, temporary);
  return removed == 0 ? Reported(result) : -EIO;
}

void UndoMove(const Place& from, const Place& temporary) {
  EnteredDirectory made;
  EnteredDirectory old;
  if (made.Enter(temporary.directory, temporary.name) != 0) return;
  if (old.MakeOrEnter(from.directory, from.name, made) == 0) {
    MoveEntries(made.descriptor(), old.descriptor(), Way::kBack, 0);
    old.Leave();
  }
  made.Leave();
  kernel::RemoveDirectory(temporary.directory, temporary.name);
}

}  // namespace native_runner

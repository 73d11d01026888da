#include "launcher/renames/entered_directory.h"

#include <cerrno>
#include <cstring>

#include "launcher/kernel/file_calls.h"
#include "launcher/text/fixed_text.h"

namespace native_runner {
namespace {

constexpr mode_t kModes = 07777;
constexpr const char* kAcls[] = {"system.posix_acl_access", "system.posix_acl_default"};

bool KeepsOut(const struct stat& status) {
  return (status.st_mode & S_IRWXU) != S_IRWXU && status.st_uid == kernel::UserId();
}

// One that is open as O_PATH, as what it is by its descriptor: fchmod(2) takes no such, and its
// name may be another's by now.
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

// The attributes of a user's, and access lists.
long CopyAttributes(int from, int to) {
  constexpr std::size_t kMost = 65536;  // XATTR_LIST_MAX, XATTR_SIZE_MAX
  static char names[kMost + 32];        // so that IsKept may look beyond the last
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

}  // namespace

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

// Lists that it has of its parent's go: an access list is part of the mode.
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

}  // namespace native_runner

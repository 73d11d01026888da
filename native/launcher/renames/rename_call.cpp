#include "launcher/renames/rename_call.h"

#include <cerrno>
#include <cstring>

#include "launcher/kernel/file_calls.h"
#include "launcher/kernel/process_memory.h"
#include "launcher/text/fixed_text.h"

namespace native_runner {
namespace {

bool IsName(const char* name) {
  const std::size_t size = std::strlen(name);
  const bool is_dots = name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'));
  return size > 0 && size <= NAME_MAX && !is_dots;
}

// Takes the last name off the path, which becomes that of its directory.
const char* TakeName(char* path) {
  std::size_t size = std::strlen(path);
  while (size > 1 && path[size - 1] == '/')
    path[--size] = '\0';
  while (size > 0 && path[size - 1] != '/')
    --size;
  return path + size;
}

}  // namespace

RenameCall::RenameCall(const seccomp_notif& call) : caller_(static_cast<pid_t>(call.pid)) {
  const auto* const given = call.data.args;
#ifdef SYS_rename
  if (call.data.nr == SYS_rename) {
    old_ = {AT_FDCWD, given[0]};
    new_ = {AT_FDCWD, given[1]};
    return;
  }
#endif
  old_ = {static_cast<int>(given[0]), given[1]};
  new_ = {static_cast<int>(given[2]), given[3]};
  if (call.data.nr == SYS_renameat2) flags_ = static_cast<unsigned>(given[4]);
}

long RenameCall::Find(const Argument& argument, FoundPlace* found, Lookup lookup) const {
  char path[PATH_MAX];  // NOLINT(cppcoreguidelines-pro-type-member-init): filled to its end
  if (!ReadText(caller_, argument.path, path, sizeof path) || path[0] == '\0') return -EINVAL;
  const char* const name = TakeName(path);
  if (!IsName(name)) return -EINVAL;
  std::memcpy(found->name, name, std::strlen(name) + 1);
  path[name - path] = '\0';
  found->directory = OpenDirectory(argument, path, lookup);
  return found->directory < 0 ? found->directory : 0;
}

// Links of /proc that lead anywhere are not followed: what is the caller's own there would be ours.
int RenameCall::OpenDirectory(const Argument& argument, const char* path, Lookup lookup) const {
  constexpr std::uint64_t kDirectory = O_PATH | O_DIRECTORY;
  const std::uint64_t resolve =
      RESOLVE_NO_MAGICLINKS | (lookup == Lookup::kCached ? RESOLVE_CACHED : 0);
  if (path[0] == '/') return kernel::OpenAt(AT_FDCWD, path, kDirectory, resolve);
  FixedText<64> from;
  from.Add("/proc/").AddNumber(caller_);
  if (argument.directory == AT_FDCWD) {
    from.Add("/cwd");
  } else {
    from.Add("/fd/").AddNumber(argument.directory);
  }
  const int base = kernel::OpenAt(AT_FDCWD, from.c_str(), kDirectory, 0);
  if (base < 0 || path[0] == '\0') return base;
  const int directory = kernel::OpenAt(base, path, kDirectory, resolve);
  kernel::Close(base);
  return directory;
}

}  // namespace native_runner

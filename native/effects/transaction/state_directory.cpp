#include "effects/transaction/state_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "policy/text/path.h"
#include "policy/text/quote.h"
#include "supervise/os/real_path.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr mode_t kOthersWrite = 0022;

Error Unusable(const std::string& path, const std::string& why) {
  return Error{ErrorCode::kSetup, "the transactions' directory " + path + " " + why,
               "name another one with the option `directory`"};
}

Error Unusable(const std::string& path, int error) {
  return Unusable(path, std::string("can't be had: ") + std::strerror(error));
}

// mkdir(2) for each component; one that is there is passed over.
int MakeMissing(const std::string& path) {
  std::string made;
  for (const std::string_view component : PathComponents(path)) {
    made.append("/").append(component);
    if (mkdir(made.c_str(), kOwnerOnly) != 0 && errno != EEXIST && errno != EROFS &&
        errno != EACCES) {
      return errno;
    }
  }
  return 0;
}

std::optional<Error> CheckPath(const std::string& path) {
  const bool has_nul = path.find('\0') != std::string::npos;
  if (path.starts_with('/') && !HasParentComponent(path) && !has_nul) return std::nullopt;
  return Error{ErrorCode::kInvalidValue,
               "Expected `directory` to be an absolute path without \"..\" or NUL bytes, got " +
                   QuotedShort(path),
               ""};
}

// ENOENT is nullopt.
Result<std::optional<Workspace>> OpenChecked(const std::string& path) {
  Descriptor directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    if (errno == ENOENT) return std::optional<Workspace>();
    return Unusable(path, errno);
  }
  struct statx status {};
  if (statx(directory.get(), "", AT_EMPTY_PATH, STATX_UID | STATX_MODE, &status) != 0) {
    return Unusable(path, errno);
  }
  if (status.stx_uid != geteuid()) return Unusable(path, "belongs to another user");
  if ((status.stx_mode & kOthersWrite) != 0) return Unusable(path, "can be written by others");
  auto real = PathOf(directory.get());
  if (!real) return real.error();
  return std::optional(Workspace{std::move(directory), std::move(*real)});
}

}  // namespace

Result<Workspace> OpenStateDirectory(const std::string& path) {
  if (auto error = CheckPath(path)) return *error;
  if (const int error = MakeMissing(path); error != 0) return Unusable(path, error);
  auto opened = OpenChecked(path);
  if (!opened) return opened.error();
  if (!*opened) return Unusable(path, ENOENT);
  return std::move(**opened);
}

Result<std::optional<Workspace>> FindStateDirectory(const std::string& path) {
  if (auto error = CheckPath(path)) return *error;
  return OpenChecked(path);
}

}  // namespace native_runner

#include "supervise/denials/host_look.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

bool Stat(const std::string& path, int flags, struct statx* status) {
  constexpr int kQuiet = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  return statx(AT_FDCWD, path.c_str(), flags | kQuiet, STATX_TYPE, status) == 0;
}

bool May(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

HostLookup LookAt(const std::string& path) {
  HostLookup at;
  struct statx status {};
  if (!Stat(path, AT_SYMLINK_NOFOLLOW, &status)) return at;
  std::array<char, PATH_MAX> text{};
  if ((status.stx_mode & S_IFMT) == S_IFLNK) {
    const ssize_t size = readlink(path.c_str(), text.data(), text.size());
    if (size > 0) at.link.assign(text.data(), static_cast<std::size_t>(size));
    if (!Stat(path, 0, &status)) return at;
  }
  const unsigned type = status.stx_mode & S_IFMT;
  at.type = type == S_IFREG   ? HostLookup::Type::kFile
            : type == S_IFDIR ? HostLookup::Type::kDirectory
                              : HostLookup::Type::kOther;
  if (realpath(path.c_str(), text.data()) != nullptr) at.real = text.data();
  at.readable = May(path, R_OK);
  at.writable = May(path, W_OK);
  at.executable = May(path, X_OK);
  return at;
}

}  // namespace

HostLookup HostLook::At(const std::string& path) {
  if (const auto known = known_.find(path); known != known_.end()) return known->second;
  if (known_.size() >= kMostLooks) return {};
  return known_.emplace(path, LookAt(path)).first->second;
}

}  // namespace native_runner

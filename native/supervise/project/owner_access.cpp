#include "supervise/project/owner_access.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr mode_t kAccess = S_IWUSR | S_IXUSR;
constexpr mode_t kModeBits = 07777;

std::optional<mode_t> OwnModeOf(int directory) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_MODE | STATX_UID;
  if (statx(directory, "", AT_EMPTY_PATH, kWanted, &status) != 0) return std::nullopt;
  if (status.stx_uid != geteuid()) return std::nullopt;
  return status.stx_mode & kModeBits;
}

// fchmod(2) takes no O_PATH descriptor.
bool SetMode(int directory, mode_t mode) {
  return chmod(("/proc/self/fd/" + std::to_string(directory)).c_str(), mode) == 0;
}

}  // namespace

OwnerAccess::OwnerAccess(int directory) : directory_(directory) {
  const auto mode = OwnModeOf(directory);
  if (geteuid() == 0 || !mode || (*mode & kAccess) == kAccess) return;
  before_ = *mode;
  if (SetMode(directory, before_ | kAccess)) given_ = before_ | kAccess;
}

OwnerAccess::~OwnerAccess() {
  if (given_ != 0 && OwnModeOf(directory_) == given_) SetMode(directory_, before_);
}

}  // namespace native_runner

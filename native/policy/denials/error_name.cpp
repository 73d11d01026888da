#include "policy/denials/error_name.h"

#include <array>
#include <cerrno>
#include <utility>

namespace native_runner {
namespace {

using Named = std::pair<int, const char*>;
constexpr std::array kNames = {
    Named{EPERM, "EPERM"},
    Named{ENOENT, "ENOENT"},
    Named{ESRCH, "ESRCH"},
    Named{EAGAIN, "EAGAIN"},
    Named{ENOMEM, "ENOMEM"},
    Named{EACCES, "EACCES"},
    Named{EXDEV, "EXDEV"},
    Named{ENODEV, "ENODEV"},
    Named{ENOTDIR, "ENOTDIR"},
    Named{EINVAL, "EINVAL"},
    Named{EMFILE, "EMFILE"},
    Named{EFBIG, "EFBIG"},
    Named{ENOSPC, "ENOSPC"},
    Named{EROFS, "EROFS"},
    Named{ENOSYS, "ENOSYS"},
    Named{EOPNOTSUPP, "EOPNOTSUPP"},
    Named{EAFNOSUPPORT, "EAFNOSUPPORT"},
    Named{EADDRNOTAVAIL, "EADDRNOTAVAIL"},
    Named{ENETDOWN, "ENETDOWN"},
    Named{ENETUNREACH, "ENETUNREACH"},
    Named{ETIMEDOUT, "ETIMEDOUT"},
    Named{ECONNREFUSED, "ECONNREFUSED"},
    Named{EHOSTUNREACH, "EHOSTUNREACH"},
};

}  // namespace

std::string ErrorName(int error) {
  for (const auto& [number, name] : kNames) {
    if (number == error) return name;
  }
  return error == 0 ? "" : std::to_string(error);
}

}  // namespace native_runner

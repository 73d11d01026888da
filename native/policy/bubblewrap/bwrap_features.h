#pragma once

#include <string_view>

namespace native_runner {

// What the bwrap at hand can do, read off its --help: distributions back-port options, so the
// version number does not tell.
struct BwrapFeatures {
  bool bind_fd = false;
  bool disable_userns = false;
  bool as_pid_1 = false;
  bool size = false;
  bool perms = false;
};
BwrapFeatures ParseBwrapHelp(std::string_view help);

}  // namespace native_runner

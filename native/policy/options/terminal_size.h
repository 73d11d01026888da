#pragma once

#include <cstdint>

namespace native_runner {

// Of a terminal, in characters; each from 1 on (TIOCSWINSZ in ioctl_tty(2)).
struct TerminalSize {
  std::uint16_t columns = 0;
  std::uint16_t rows = 0;
};

}  // namespace native_runner

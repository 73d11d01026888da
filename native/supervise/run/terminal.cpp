#include "supervise/run/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>

namespace native_runner {

Descriptor Terminal::Duplicate() const {
  return Descriptor(fcntl(master_.get(), F_DUPFD_CLOEXEC, 0));
}

void Terminal::Resize(TerminalSize size) const {
  const winsize wanted{size.rows, size.columns, 0, 0};
  ioctl(master_.get(), TIOCSWINSZ, &wanted);  // fails only when the descriptor is no terminal
}

}  // namespace native_runner

#include "launcher/command/terminal.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <fcntl.h>
#include <unistd.h>

#include "launcher/kernel/calls.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

namespace native_runner {
namespace {

constexpr char kMultiplexer[] = "/dev/ptmx";

// The kernel's, of ioctl_tty(2).
struct WindowSize {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::uint16_t width_pixels = 0;
  std::uint16_t height_pixels = 0;
};

// Erasing a character takes all its bytes.
void UseUtf8(int terminal) {
  termios settings{};
  if (kernel::DeviceControl(terminal, TCGETS, &settings) != 0) return;
  settings.c_iflag |= IUTF8;
  kernel::DeviceControl(terminal, TCSETS, &settings);
}

// The other side, without a path: nobody can have put something else there. -errno on failure.
int OpenPeer(int master, const OrderHeader& header) {
  int locked = 0;
  long result = kernel::DeviceControl(master, TIOCSPTLCK, &locked);
  const WindowSize size{header.terminal_rows, header.terminal_columns};
  if (result == 0) result = kernel::DeviceControl(master, TIOCSWINSZ, &size);
  if (result != 0) return static_cast<int>(result);
  return static_cast<int>(
      kernel::DeviceControl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

long InstallStandardStreams(int peer) {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const long result = kernel::Duplicate(peer, number);
    if (result < 0) return result;
  }
  return 0;
}

}  // namespace

bool OpenTerminal(const Control& control, const OrderHeader& header, Refusal* refusal) {
  const int master = kernel::Open(kMultiplexer, O_RDWR | O_NOCTTY);
  if (master < 0) return refusal->Because("terminal: /dev/ptmx", master);
  const int peer = OpenPeer(master, header);
  long result = peer;
  if (peer >= 0) {
    UseUtf8(peer);
    result = InstallStandardStreams(peer);
    kernel::Close(peer);
  }
  const bool is_sent = result >= 0 && control.SendTerminal(master);
  kernel::Close(master);
  if (result < 0) return refusal->Because("terminal", result);
  return is_sent || refusal->Because("terminal: cannot hand it to the host");
}

long EnterSession(bool with_terminal) {
  const long session = kernel::NewSession();
  if (session < 0 || !with_terminal) return session < 0 ? session : 0;
  return kernel::DeviceControl(STDIN_FILENO, TIOCSCTTY, 0);
}

}  // namespace native_runner

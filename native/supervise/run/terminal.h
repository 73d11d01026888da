#pragma once

#include "policy/options/terminal_size.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// The master side of a terminal that a launcher has made (pty(7)). Each reader and writer gets a
// descriptor of its own. Supervisor thread only.
class Terminal {
 public:
  explicit Terminal(Descriptor master) : master_(std::move(master)) {}

  Descriptor Duplicate() const;  // not valid: no descriptor is left

  // The command's foreground process group gets SIGWINCH when that changes the size.
  void Resize(TerminalSize size) const;

 private:
  Descriptor master_;
};

}  // namespace native_runner

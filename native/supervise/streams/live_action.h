#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "policy/options/terminal_size.h"
#include "supervise/streams/stream.h"

namespace native_runner {

// What a live process can be told while it runs.
struct WriteInput {
  std::vector<std::uint8_t> bytes;
};
struct EndInput {};
struct GrantOutput {
  Stream stream;
  std::uint64_t bytes;  // that its reader has taken
};
struct CloseOutput {
  Stream stream;  // nobody reads it any more
};
struct SendSignal {
  int signal;
};
struct ResizeTerminal {
  TerminalSize size;
};
using LiveAction =
    std::variant<WriteInput, EndInput, GrantOutput, CloseOutput, SendSignal, ResizeTerminal>;

// And what it tells, besides its output.
enum class LiveEvent {
  kStarted,      // the sandbox is ready, and the command is started now
  kInputTaken,   // of one WriteInput or EndInput: its bytes are with the kernel
  kInputClosed,  // of one of those: nobody reads the input any more
};

}  // namespace native_runner

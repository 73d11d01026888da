#pragma once

#include <cstdint>
#include <string_view>

#include "supervise/os/descriptor.h"

namespace native_runner {

// A connection for lib's terminator, which ends its TLS: the sockets towards the command and the
// host.
struct TerminatedConnection {
  Descriptor client;
  Descriptor host;
  std::uint64_t run = 0;  // the terminator's number of the run, or the session, that made it
  std::uint16_t port = 0;
  std::string_view via;   // ConnectionViaName
  std::string_view name;  // the host's
};

// The two ends of a channel to the terminator of a Node environment. The terminator is a thread of
// this process, so that numbers of descriptors are all that has to be sent.
struct TerminatorEnds {
  Descriptor ours;    // never waits
  Descriptor theirs;  // lines of text, see HandToTerminator
};
Result<TerminatorEnds> MakeTerminatorChannel();

// Hands a connection over by a line "CLIENT HOST RUN PORT VIA NAME": the terminator owns the
// descriptors from then on. Returns false if it does not take it, and closes them.
[[nodiscard]] bool HandToTerminator(int channel, TerminatedConnection connection);

}  // namespace native_runner

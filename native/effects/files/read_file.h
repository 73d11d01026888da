#pragma once

#include <cstdint>
#include <string_view>

#include "effects/tree/beneath.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

// All bytes of a regular file. It is looked at before it is opened, so that nothing but a file ever
// is: opening a FIFO or a device does something. kTooLarge when it has, or gets meanwhile, more
// than `most` bytes. EAGAIN where another process has a lease on it.
FileResult<Bytes> ReadFile(const Beneath& root, std::string_view relative, std::uint64_t most);

}  // namespace native_runner

#pragma once

#include <cstddef>

#include "protocol/order.h"

namespace native_runner {

// An order as it came: in the message's own bytes, or, where those are too many, in a file.
struct ReceivedOrder {
  std::size_t size = 0;  // of what is in `bytes`
  int descriptor = -1;   // the file's, close-on-exec, the receiver's to close; -1: there is none
  alignas(std::max_align_t) std::byte bytes[kMostInMessage];
};

}  // namespace native_runner

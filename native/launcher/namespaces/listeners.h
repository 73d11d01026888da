#pragma once

#include <cstddef>

#include "launcher/text/refusal.h"
#include "protocol/step.h"

namespace native_runner {

// Sockets of the network namespace that we are in. Closed with this.
struct BoundSockets {
  BoundSockets() = default;
  ~BoundSockets();
  BoundSockets(const BoundSockets&) = delete;
  BoundSockets& operator=(const BoundSockets&) = delete;

  int at[kMostMade] = {};
  std::size_t count = 0;
};

// Binds a socket to each port of a list, as kStepListen says. False: the refusal says which can't
// be had.
[[nodiscard]] bool BindPorts(const char* list, BoundSockets* bound, Refusal* refusal);

}  // namespace native_runner

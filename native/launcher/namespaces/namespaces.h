#pragma once

#include <cstddef>

#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"
#include "protocol/order.h"

namespace native_runner {

// Enters a new user namespace, in which the user's ids stay the same and it has all capabilities,
// and new namespaces of these other kinds (CLONE_NEW…) that belong to it. `layer`: named by the
// refusal. False: `refusal` states the reason.
[[nodiscard]] bool EnterUserNamespace(unsigned long kinds, Layer layer, Refusal* refusal);

// Take the steps that make a network namespace (protocol/order.h), with their texts. False:
// `refusal` states the reason.
[[nodiscard]] bool MakeNetworkNamespace(const char* text, Refusal* refusal);
// Brings up the loopback of an existing namespace.
[[nodiscard]] bool BringUpLoopback(Refusal* refusal);
[[nodiscard]] bool MakeBlockLocal(const char* text, Refusal* refusal);

// Sockets of the current network namespace; the destructor closes them.
struct BoundSockets {
  BoundSockets() = default;
  ~BoundSockets();
  BoundSockets(const BoundSockets&) = delete;
  BoundSockets& operator=(const BoundSockets&) = delete;

  int at[kMostMade] = {};
  std::size_t count = 0;
};

// Binds a socket to each port of `list`, as kStepListen describes. False: `refusal` names the port
// that can't be bound.
[[nodiscard]] bool BindPorts(const char* list, BoundSockets* bound, Refusal* refusal);

// Takes the steps of an order with kOrderNamespaces (protocol/order.h). Sends what was made, and
// the outcome, kExited or kRefused, over the control socket. Does not return if the last step
// executes a program.
void TakeSteps(const HostChannel& control, const MappedOrder& order);

}  // namespace native_runner

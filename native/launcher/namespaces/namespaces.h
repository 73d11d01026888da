#pragma once

#include <cstddef>

#include "launcher/order/host_channel.h"
#include "launcher/order/order.h"
#include "protocol/order.h"

namespace native_runner {

// Enters a new user namespace, in which the user stays who he is and has all capabilities, and new
// namespaces of these other kinds (CLONE_NEW…) that belong to it. `layer`: whose absence it would
// be. False: the refusal says why.
[[nodiscard]] bool EnterUserNamespace(unsigned long kinds, Layer layer, Refusal* refusal);

// The steps that make a network namespace (protocol/order.h), with their texts. False: the refusal
// says why.
[[nodiscard]] bool MakeNetworkNamespace(const char* text, Refusal* refusal);
// Where the namespace is made already: its loopback.
[[nodiscard]] bool BringUpLoopback(Refusal* refusal);
[[nodiscard]] bool MakeBlockLocal(const char* text, Refusal* refusal);

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

// Takes the steps of an order with kOrderNamespaces (protocol/order.h). Says on the socket what was
// made, and how it ended: kExited, or kRefused. Does not return where the last step is to execute
// a program and that begins.
void TakeSteps(const HostChannel& control, const MappedOrder& order);

}  // namespace native_runner

#pragma once

#include "launcher/order/received_order.h"
#include "launcher/text/refusal.h"
#include "protocol/order.h"

namespace native_runner {

// The order as the command's process needs it. Points into what was received, and into mappings
// that stay until the launcher ends. `argv[-1]` is a spare entry: a script without "#!" is run as
// /bin/sh SCRIPT ARGS.
struct MappedOrder {
  OrderHeader header;
  const char* cwd = nullptr;
  char** argv = nullptr;
  char** environment = nullptr;
  char** rules = nullptr;  // see protocol/order.h
};

// Maps the file, if it is one, and closes it in any case; checks the order. False: `refusal` says
// why.
bool MapOrder(const ReceivedOrder& received, MappedOrder* order, Refusal* refusal);

}  // namespace native_runner

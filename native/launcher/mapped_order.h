#pragma once

#include "launcher/refusal.h"
#include "policy/order.h"

namespace native_runner {

// The order as the command's process needs it. Points into mappings that stay until the launcher
// ends. `argv[-1]` is a spare entry: a script without "#!" is run as /bin/sh SCRIPT ARGS.
struct MappedOrder {
  OrderHeader header;
  const char* cwd = nullptr;
  char** argv = nullptr;
  char** environment = nullptr;
  char** rules = nullptr;  // see policy/order.h
};

// Maps the file, checks it and closes `descriptor` in any case. False: `refusal` says why.
bool MapOrder(int descriptor, MappedOrder* order, Refusal* refusal);

}  // namespace native_runner

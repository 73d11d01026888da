#pragma once

#include <cstddef>
#include <cstdint>

#include "launcher/kernel/text.h"
#include "protocol/layer.h"
#include "protocol/order.h"

namespace native_runner {

// The reason why a run may not start; sent as a report of kind kRefused. Each text begins with the
// missing layer's name as audits use it, or says which part of the set-up failed.
struct Refusal {
  int error = 0;               // errno; 0 if no system call failed
  bool no_directory = false;   // the order's directory can't be entered
  bool shared_mounts = false;  // kOrderOwnMounts does not hold
  bool no_clone = false;       // a template's clone could not be made
  FixedText<128> text;

  // Always false, so that checks can end with `return refusal->Because(...)`.
  bool Because(const char* what) {
    text.Add(what);
    return false;
  }
  // `result`: the -errno that a system call returned.
  bool Because(const char* what, long result) {
    error = static_cast<int>(-result);
    text.Add(what).Add(": ").Add(ErrnoText(error));
    return false;
  }
  bool Because(Layer layer, const char* what) { return Of(layer).Because(what); }
  bool Because(Layer layer, long result) { return Because(LayerName(layer), result); }
  bool Because(Layer layer, const char* what, long result) {
    return Of(layer).Because(what, result);
  }

 private:
  Refusal& Of(Layer layer) {
    text.Add(LayerName(layer)).Add(": ");
    return *this;
  }
};

// A received order: in the message's own bytes or, if it is too large, in a file.
struct ReceivedOrder {
  std::size_t size = 0;  // of the order in `bytes`
  int descriptor = -1;   // the file, close-on-exec, closed by the receiver; -1: no file
  alignas(std::max_align_t) std::byte bytes[kMostInMessage];
};

// The order in the form that the command's process needs. Points into the received bytes, and into
// mappings that stay until the launcher ends. `argv[-1]` is a spare entry: a script without "#!" is
// run as /bin/sh SCRIPT ARGS.
struct MappedOrder {
  OrderHeader header;
  const char* cwd = nullptr;
  char** argv = nullptr;
  char** environment = nullptr;
  char** rules = nullptr;  // see protocol/order.h
};

// Maps the file, if the order is in one, and always closes it; checks the order. False: `refusal`
// states the reason.
bool MapOrder(const ReceivedOrder& received, MappedOrder* order, Refusal* refusal);

// The timer of the order's lease, if it has one. The launcher keeps it, so that it holds while the
// host's process is stopped or swapped out. It keeps running while the machine is suspended, and
// its clock can't be set (CLOCK_BOOTTIME in clock_gettime(2)). Makes no system call without a
// lease.
class LeaseTimer {
 public:
  LeaseTimer() = default;
  ~LeaseTimer();
  LeaseTimer(const LeaseTimer&) = delete;
  LeaseTimer& operator=(const LeaseTimer&) = delete;

  // Starts the timer, close-on-exec. False: `refusal` states the reason.
  bool Begin(const OrderHeader& order, Refusal* refusal);
  // Sets a new end of the lease; the host's last message counts.
  void Extend(std::uint64_t until_ns);

  // Readable from the lease's end on, unless it is extended; -1 without a lease.
  int descriptor() const { return timer_; }
  bool HasEnded() const;

 private:
  long Set(std::uint64_t until_ns);

  int timer_ = -1;
  std::uint64_t until_ns_ = 0;
};

}  // namespace native_runner

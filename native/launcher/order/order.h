#pragma once

#include <cstddef>
#include <cstdint>

#include "launcher/kernel/text.h"
#include "protocol/layer.h"
#include "protocol/order.h"

namespace native_runner {

// Why a run may not start: goes out as a report of kind kRefused. Each text begins with the layer
// that could not be had, by the name that audits use, or says which part of the set-up failed.
struct Refusal {
  int error = 0;               // errno, 0 where no system call failed
  bool no_directory = false;   // the order's directory can't be entered
  bool shared_mounts = false;  // kOrderOwnMounts does not hold
  bool no_clone = false;       // a template's clone could not be made
  FixedText<128> text;

  // Always false, so that checks can end with `return refusal->Because(...)`.
  bool Because(const char* what) {
    text.Add(what);
    return false;
  }
  // `result` is what a system call returned, -errno.
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

// An order as it came: in the message's own bytes, or, where those are too many, in a file.
struct ReceivedOrder {
  std::size_t size = 0;  // of what is in `bytes`
  int descriptor = -1;   // the file's, close-on-exec, the receiver's to close; -1: there is none
  alignas(std::max_align_t) std::byte bytes[kMostInMessage];
};

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

// When the order's lease ends, if it has one: kept by us, so that it holds while the host's process
// is stopped or swapped out. It goes on while the machine is suspended, and nobody sets its clock
// (CLOCK_BOOTTIME in clock_gettime(2)). Without a lease none of this makes a system call.
class LeaseTimer {
 public:
  LeaseTimer() = default;
  ~LeaseTimer();
  LeaseTimer(const LeaseTimer&) = delete;
  LeaseTimer& operator=(const LeaseTimer&) = delete;

  // False: `refusal` says why it can't be kept. Close-on-exec.
  bool Begin(const OrderHeader& order, Refusal* refusal);
  // It holds until then: what the host says last.
  void Extend(std::uint64_t until_ns);

  // Readable from its end on, unless it is extended; -1: there is no lease.
  int descriptor() const { return timer_; }
  bool HasEnded() const;

 private:
  long Set(std::uint64_t until_ns);

  int timer_ = -1;
  std::uint64_t until_ns_ = 0;
};

}  // namespace native_runner

#pragma once

#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>

#include "launcher/order/host_channel.h"
#include "protocol/report.h"

namespace native_runner {

// Calls that a command was refused, each stored once, in order. Bounded; one per process.
class Observations {
 public:
  struct Text {
    const char* bytes = nullptr;
    std::size_t size = 0;
  };
  struct Seen {
    ObservationKind kind = ObservationKind::kOther;
    bool by_filter = false;
    int error = 0;
    std::uint64_t argument = 0;
    const char* call = nullptr;
    Text path;
    Text second_path;
    Text address;
    Text program;
  };

  void Add(const Seen& seen);

  // Sends all observations that were not sent yet.
  void Send(const HostChannel& control);

 private:
  // Missing files (ENOENT) mostly come from searches: they leave room for refused calls.
  static constexpr std::size_t kMostBytes = 96 * 1024;
  static constexpr std::size_t kMostMissingBytes = 64 * 1024;
  static constexpr std::size_t kMost = 1024;
  // Bounds calls refused by the filter, as their arguments can be anything.
  static constexpr std::size_t kMostFiltered = 64;

  std::size_t Encode(const Seen& seen, std::byte* bytes) const;

  std::size_t count_ = 0;
  std::size_t bytes_used_ = 0;
  std::size_t missing_bytes_ = 0;
  std::size_t filtered_ = 0;
  std::uint64_t omitted_ = 0;
  std::uint32_t hashes_[kMost] = {};
  std::uint32_t places_[kMost] = {};
  alignas(kObservationAlignment) std::byte bytes_[kMostBytes] = {};
};

// Answers calls that the filter of rules.h refuses with the error of that filter, and records them.
// Leaves none of them to the kernel, as the caller could have changed its arguments by then.
class Refusals {
 public:
  explicit Refusals(Observations* observations) : observations_(observations) {}
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // Takes ownership of a listener's descriptor.
  void Listen(int listener) { listener_ = listener; }

  // Readable when Look() has work; -1 without a listener.
  int descriptor() const { return listener_; }

  // Answers waiting calls; a bounded number at once.
  void Look();

  // Answers a call that another listener received. False if no rule refuses the call.
  bool Answer(int listener, const seccomp_notif& call);

 private:
  Observations* observations_;
  int listener_ = -1;
};

}  // namespace native_runner

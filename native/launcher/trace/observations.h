#pragma once

#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>

#include "launcher/order/host_channel.h"
#include "protocol/report.h"

namespace native_runner {

// What a command was refused, each once, in order. Bounded; there is one for a process.
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

  // All of it that was not sent yet.
  void Send(const HostChannel& control);

 private:
  // What is only missing (ENOENT) is most often a search: it leaves room for what is refused.
  static constexpr std::size_t kMostBytes = 96 * 1024;
  static constexpr std::size_t kMostMissingBytes = 64 * 1024;
  static constexpr std::size_t kMost = 1024;
  // Arguments are anything.
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

// Answers what the filter of rules.h refuses, as that filter would have, and tells of it. Nothing
// of it is ever left to the kernel: who asked could have changed it by then.
class Refusals {
 public:
  explicit Refusals(Observations* observations) : observations_(observations) {}
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // Takes the descriptor of a listener, ours from here on.
  void Listen(int listener) { listener_ = listener; }

  // Readable when Look has something to do; -1: nobody is listened to.
  int descriptor() const { return listener_; }

  // Answers what waits; a bounded number at once.
  void Look();

  // What another listener of ours was asked. False: it is no call that is refused.
  bool Answer(int listener, const seccomp_notif& call);

 private:
  Observations* observations_;
  int listener_ = -1;
};

}  // namespace native_runner

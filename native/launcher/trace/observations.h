#pragma once

#include <cstddef>
#include <cstdint>

#include "launcher/order/control.h"
#include "protocol/observation.h"

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
  void Send(const Control& control);

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

}  // namespace native_runner

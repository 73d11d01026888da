#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/denials/observation.h"

namespace native_runner {

// What the launcher of one run has seen refused, in order: bounded, whatever it sends.
class CollectedObservations {
 public:
  // What came with a report of kind kObserved. `omitted`: how many more there were until now.
  void Take(std::span<const std::byte> records, std::uint64_t omitted);

  std::vector<Observation> TakeAll() { return std::move(all_); }
  std::uint64_t omitted() const { return omitted_ + dropped_; }

 private:
  std::vector<Observation> all_;
  std::size_t bytes_ = 0;
  std::uint64_t omitted_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace native_runner

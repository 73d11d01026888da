#include "supervise/denials/collected_observations.h"

#include <algorithm>
#include <utility>

#include "policy/denials/observation_reader.h"

namespace native_runner {
namespace {

// More than a launcher tells.
constexpr std::size_t kMostBytes = std::size_t{2} << 20U;

}  // namespace

void CollectedObservations::Take(std::span<const std::byte> records, std::uint64_t omitted) {
  omitted_ = std::max(omitted_, omitted);
  const bool fits = bytes_ + records.size() <= kMostBytes;
  for (Observation& each : ReadObservations(records)) {
    if (fits) {
      all_.push_back(std::move(each));
    } else {
      dropped_ += each.count;
    }
  }
  if (fits) bytes_ += records.size();
}

}  // namespace native_runner

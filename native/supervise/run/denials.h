#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "policy/denials/denials.h"
#include "policy/denials/observation.h"

namespace native_runner {

// The refusals observed by the launcher of one run, in order; bounded, regardless of how many the
// launcher sends.
class CollectedObservations {
 public:
  // Adds the records of a kObserved report. `omitted`: total number of further ones so far.
  void Take(std::span<const std::byte> records, std::uint64_t omitted);

  std::vector<Observation> TakeAll() { return std::move(all_); }
  std::uint64_t omitted() const { return omitted_ + dropped_; }

 private:
  std::vector<Observation> all_;
  std::size_t bytes_ = 0;
  std::uint64_t omitted_ = 0;
  std::uint64_t dropped_ = 0;
};

// ReportDenials, which examines the host's files on a thread of libuv's pool: an unresponsive file
// system delays only this run's result. `done` is called once, on the loop's thread; if no pool
// thread is available, before this returns, without examining files.
void ReportDenialsLater(uv_loop_t* loop, DeniedRun run, std::function<void(DenialLog)> done);

}  // namespace native_runner

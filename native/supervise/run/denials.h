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

// ReportDenials, with looks at the host's files on a thread of libuv's pool: a file system that
// does not answer holds up this run's result and no other's run. `done` is called once, on the
// loop's thread; where there is no such thread to be had, before this returns, with nothing looked
// at.
void ReportDenialsLater(uv_loop_t* loop, DeniedRun run, std::function<void(DenialLog)> done);

}  // namespace native_runner

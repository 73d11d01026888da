#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "policy/denials/denials.h"
#include "policy/denials/observation.h"
#include "supervise/os/file_threads.h"

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

// ReportDenials, which examines the host's files on a thread that can be left behind. `done` is
// called once, on the loop's thread: after two seconds without an answer, with what is known
// without the files. `threads`: nullptr: this thread looks.
void ReportDenialsLater(FileThreads* threads, DeniedRun run, std::function<void(DenialLog)> done);

}  // namespace native_runner

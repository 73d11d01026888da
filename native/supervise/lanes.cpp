#include "supervise/lanes.h"

#include <algorithm>
#include <utility>

namespace native_runner {

void Lanes::Add(RunJob job) {
  const std::uint64_t lane = job.lane;
  lanes_[lane].waiting.push_back(std::move(job));
  Fill(lane);
}

// A run may end while it starts: the loop that started it then goes on with the next.
void Lanes::Fill(std::uint64_t lane) {
  const auto found = lanes_.find(lane);
  if (is_filling_ || found == lanes_.end()) return;
  Lane& here = found->second;
  is_filling_ = true;
  while (!here.waiting.empty() && here.in_flight < here.waiting.front().lane_width) {
    RunJob job = std::move(here.waiting.front());
    here.waiting.pop_front();
    ++here.in_flight;
    begin_(std::move(job));
  }
  is_filling_ = false;
  if (here.in_flight == 0 && here.waiting.empty()) lanes_.erase(found);
}

std::optional<RunJob> Lanes::Withdraw(std::uint64_t run) {
  for (auto& [id, lane] : lanes_) {
    const auto found = std::find_if(lane.waiting.begin(), lane.waiting.end(),
                                    [run](const RunJob& waiting) { return waiting.run == run; });
    if (found == lane.waiting.end()) continue;
    RunJob job = std::move(*found);
    lane.waiting.erase(found);
    return job;
  }
  return std::nullopt;
}

std::vector<RunJob> Lanes::WithdrawAll() {
  std::vector<RunJob> all;
  for (auto& [id, lane] : lanes_) {
    std::move(lane.waiting.begin(), lane.waiting.end(), std::back_inserter(all));
    lane.waiting.clear();
  }
  return all;
}

}  // namespace native_runner

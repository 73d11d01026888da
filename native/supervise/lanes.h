#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "policy/options/request.h"
#include "supervise/pool/sandbox_pools.h"
#include "supervise/preparation/runtime.h"

namespace native_runner {

// A run that is asked for. Runs of one lane start in order, at most `lane_width` of them at once;
// the others wait. A live process is in no lane: it may run for days, and would keep the others
// waiting.
struct RunJob {
  std::uint64_t run = 0;  // unique
  std::uint64_t lane = 0;
  std::size_t lane_width = 1;
  std::shared_ptr<const Runtime> runtime;
  ExecRequest request;
  PoolReference pool = {};
};

// The lanes of one supervisor, and what waits in them. Supervisor thread only.
class Lanes {
 public:
  // `begin` starts a job whose turn it is; it may end, and OnEnd be called, from in there.
  explicit Lanes(std::function<void(RunJob)> begin) : begin_(std::move(begin)) {}

  void Add(RunJob job);

  // One that was begun has ended. Fill follows, once that was told.
  void OnEnd(std::uint64_t lane) { --lanes_[lane].in_flight; }
  void Fill(std::uint64_t lane);

  // Takes out what waits: one run, if it does, or all.
  std::optional<RunJob> Withdraw(std::uint64_t run);
  std::vector<RunJob> WithdrawAll();

 private:
  struct Lane {
    std::size_t in_flight = 0;
    std::deque<RunJob> waiting;
  };

  std::function<void(RunJob)> begin_;
  std::map<std::uint64_t, Lane> lanes_;
  bool is_filling_ = false;
};

}  // namespace native_runner

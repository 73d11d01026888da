#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/result.h"

namespace native_runner {

// What becomes of a plan when its sandboxes are cloned: what bwrap makes once, for all of them, and
// what each clone makes for itself (the steps of protocol/step.h).
struct TemplatePlan {
  BubblewrapPlan plan;
  std::vector<std::string> steps;
};

// Who commands are, and the steps of a network by domain, if there is one.
struct CloneFacts {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::string> network_steps;
};

// Each of a plan's file systems that have a state becomes a clone's own: proc, the tmpfs, the
// terminals of /dev. kUnavailable where that can't be: the message, a clause, says why. Pure.
Result<TemplatePlan> PlanTemplate(const BubblewrapPlan& plan, const CloneFacts& facts);

}  // namespace native_runner

#pragma once

#include <variant>

#include "supervise/preparation/backend.h"

namespace native_runner {

// The plan of a preparation that is known to spawn: another ends the test.
inline SpawnPlan& PlanOf(Preparation& preparation) {
  return *std::get_if<SpawnPlan>(&preparation.plan);
}
inline const SpawnPlan& PlanOf(const Preparation& preparation) {
  return *std::get_if<SpawnPlan>(&preparation.plan);
}

}  // namespace native_runner

#pragma once

#include <optional>

#include "policy/denials/denial.h"
#include "policy/denials/scene.h"

namespace native_runner {

// The limit that ended a run; nullopt where none did.
std::optional<Denial> DenialOfEnd(const DeniedRun& run);

// A limit that a call has met with; nullopt where the run has no such limit.
std::optional<Denial> DenialOfLimit(const Observation& observation, const Limits& limits);

}  // namespace native_runner

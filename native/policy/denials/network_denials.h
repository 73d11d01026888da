#pragma once

#include <optional>

#include "policy/denials/denial.h"
#include "policy/denials/scene.h"

namespace native_runner {

// A connection that the rules of a network by domain have refused; nullopt for one that they have
// allowed.
std::optional<Denial> DenialOfConnection(const ConnectionRecord& record);

// A call that the network of the sandbox, or the lack of one, has refused: connect(2) to an
// address, or socket(2) itself.
std::optional<Denial> DenialOfSocket(const Observation& observation, const DeniedRun& run);

}  // namespace native_runner

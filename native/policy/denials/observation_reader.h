#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "policy/denials/observation.h"

namespace native_runner {

// The observations of a message of kind kObserved, as far as they are well-formed: the first that
// is not ends it. `bytes`: what follows the Report.
std::vector<Observation> ReadObservations(std::span<const std::byte> bytes);

}  // namespace native_runner

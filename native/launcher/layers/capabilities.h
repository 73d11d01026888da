#pragma once

#include "launcher/text/refusal.h"

namespace native_runner {

// Empties the bounding, ambient and ordinary capability sets (capabilities(7)). What can't be
// dropped shows in CheckNoCapabilities.
void DropCapabilities();

// Refuses with "no-capabilities" unless the effective, permitted and inheritable sets are empty.
bool CheckNoCapabilities(Refusal* refusal);

}  // namespace native_runner

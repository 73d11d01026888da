#pragma once

#include "policy/denials/denial.h"
#include "policy/denials/scene.h"

namespace native_runner {

// What a run was denied by its sandbox, in the order in which it first was, with the smallest grant
// for each; an error that the command would have met on the host as well, and what programs look
// for by themselves (probes.h), is none. `look` is called with `explain` only. Pure.
DenialLog TellDenials(const DeniedRun& run, const LookAtHostPath& look);

// Whether the host's files have a say in what the run was denied: most commands are refused
// nothing.
bool NeedsLook(const DeniedRun& run);

}  // namespace native_runner

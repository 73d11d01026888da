#pragma once

#include <string>
#include <vector>

#include "policy/denials/denials.h"

namespace native_runner {

// Returns the entries of the PATH variable in an environment that are absolute.
std::vector<std::string> SearchPathOf(const std::vector<std::string>& environment);

// Returns the names that a run seems to have looked for along its PATH without finding them, each
// once, as refused executions: `path` is the name, `call` and `program` are those of the look. They
// are the run's own program; what was executed or looked at in directories of PATH; and, as shells
// look for programs without executing them, the words of a command that ended with 127. Some may be
// no programs at all. Pure.
std::vector<Observation> MissingPrograms(const DeniedRun& run);

// True if the run ended as one whose program was not found does.
bool EndedAsMissing(const DeniedRun& run);

}  // namespace native_runner

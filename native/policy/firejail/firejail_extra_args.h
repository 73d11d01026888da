#pragma once

#include <string>
#include <vector>

#include "policy/options/extra_args.h"

namespace native_runner {

// What options of Firejail's (firejail(1)) that a caller adds to ours let a command do or see, and
// which of our layers they undo. Unlike bwrap's they are one word each, so an unknown one can't
// swallow another: it is passed on, and counts as one that opens. What it may undo all the same is
// left to the launcher, which looks at what is in force.
std::vector<ExtraArg> FirejailExtraArgs(const std::vector<std::string>& words);

}  // namespace native_runner

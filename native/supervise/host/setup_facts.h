#pragma once

#include <string>
#include <string_view>

#include "policy/run/setup_fix.h"

namespace native_runner {

// Reads what of this host decides whether bwrap can make a sandbox: some files of /proc, /run and
// the root, in well below a millisecond. For runs that have failed. Any thread.
SetupFacts ReadSetupFacts();

// True if bwrap can forbid user namespaces inside a sandbox (--disable-userns): it writes a limit
// in /proc/sys, which containers mount read-only. Looked at anew for each run. Any thread.
bool MayLimitUserNamespaces();

// Returns what the operator can do about a sandbox that could not be made, from the message
// `reason` and this host; empty if unknown. `runtime`, `program`: those of the run's record. Any
// thread.
std::string SetupFix(const std::string& reason, std::string_view runtime,
                     const std::string& program);

}  // namespace native_runner

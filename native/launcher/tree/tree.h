#pragma once

#include "launcher/tree/children.h"

namespace native_runner {

// Ends whatever is left of the tree and reaps it, so that its usage is counted. False when
// something may be left: processes of a tree without a pid namespace that we have no right to
// signal.
bool KillTree(bool is_init, Children* children);

}  // namespace native_runner

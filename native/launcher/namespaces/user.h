#pragma once

#include "launcher/text/refusal.h"

namespace native_runner {

// Enters a new user namespace, in which the user stays who he is and has all capabilities, and new
// namespaces of these other kinds (CLONE_NEW…) that belong to it. `layer`: whose absence it would
// be. False: the refusal says why.
[[nodiscard]] bool EnterUserNamespace(unsigned long kinds, Layer layer, Refusal* refusal);

}  // namespace native_runner

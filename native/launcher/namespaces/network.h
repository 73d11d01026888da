#pragma once

#include "launcher/text/refusal.h"

namespace native_runner {

// The steps that make a network namespace (protocol/step.h), with their texts. False: the refusal
// says why.
[[nodiscard]] bool MakeNetworkNamespace(const char* text, Refusal* refusal);
// Where the namespace is made already: its loopback.
[[nodiscard]] bool BringUpLoopback(Refusal* refusal);
[[nodiscard]] bool MakeBlockLocal(const char* text, Refusal* refusal);

}  // namespace native_runner

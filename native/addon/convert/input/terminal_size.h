#pragma once

#include "addon/convert/fields.h"
#include "policy/options/terminal_size.h"

namespace native_runner {

// `cols` and `rows`, each an integer from 1 to 65535 that must be given.
TerminalSize ReadTerminalSize(Fields& size);

}  // namespace native_runner

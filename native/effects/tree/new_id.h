#pragma once

#include <string>

#include "policy/result.h"

namespace native_runner {

// Twelve of 0-9a-f that nobody could guess, as IsTransactionId wants them.
Result<std::string> NewId();

}  // namespace native_runner

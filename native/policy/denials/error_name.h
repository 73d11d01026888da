#pragma once

#include <string>

namespace native_runner {

// "EROFS" for 30 and so on (errno(3)); the number in decimals for one without a name here; empty
// for 0.
std::string ErrorName(int error);

}  // namespace native_runner

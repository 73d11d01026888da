#pragma once

#include <string>
#include <string_view>

namespace native_runner {

// SHA-1 (FIPS 180-4) of the parts, one after the other, as 40 hexadecimal digits. Git's patches
// name files by it; nothing is trusted for it here.
std::string Sha1(std::string_view first, std::string_view second);

}  // namespace native_runner

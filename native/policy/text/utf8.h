#pragma once

#include <string_view>

namespace native_runner {

// Whether it is UTF-8 by RFC 3629: no surrogates, no longer form than is needed.
bool IsUtf8(std::string_view text);

}  // namespace native_runner

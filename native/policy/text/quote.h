#pragma once

#include <string>
#include <string_view>

namespace native_runner {

// `value` in double quotes for a message or a line of text: quotes, backslashes and control
// characters are escaped as in JSON, so that the result is one line and tells equal from unequal.
std::string Quoted(std::string_view value);

// The same, cut after about 200 bytes (never inside a UTF-8 sequence), for error messages.
std::string QuotedShort(std::string_view value);

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace native_runner {

// The lines that records on disk are made of: NAME=VALUE, each ended by a NUL, so that a value may
// be any text or path.
void PutLine(std::string* text, std::string_view name, std::string_view value);

// The value of the next line, which must have this name; false where it has another, or is not
// whole. The line is taken from `rest`.
bool TakeLine(std::string_view* rest, std::string_view name, std::string* value);
bool TakeLine(std::string_view* rest, std::string_view name, std::uint64_t* number);

}  // namespace native_runner

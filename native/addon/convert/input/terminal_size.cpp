#include "addon/convert/input/terminal_size.h"

#include <cstdint>

namespace native_runner {

TerminalSize ReadTerminalSize(Fields& size) {
  TerminalSize read;
  const auto one = [&size](const char* key, std::uint16_t* into) {
    if (const auto count = size.Integer(key, 1, UINT16_MAX)) {
      *into = static_cast<std::uint16_t>(*count);
    } else if (size.given()) {
      size.FailMissing(key, "an integer from 1 to 65535");
    }
  };
  one("cols", &read.columns);
  one("rows", &read.rows);
  return read;
}

}  // namespace native_runner

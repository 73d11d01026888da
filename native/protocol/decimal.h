#pragma once

#include <cstdint>

namespace native_runner {

// Takes the digits at `*at`, of a NUL-terminated text, and moves it behind them. False, and nothing
// is taken, where there is none or the number does not fit. No heap and no C library: the launcher
// uses it too.
constexpr bool TakeDecimal(const char** at, std::uint64_t* value) {
  const char* next = *at;
  std::uint64_t number = 0;
  for (; *next >= '0' && *next <= '9'; ++next) {
    const auto digit = static_cast<std::uint64_t>(*next - '0');
    if (number > (UINT64_MAX - digit) / 10) return false;
    number = number * 10 + digit;
  }
  if (next == *at) return false;
  *at = next;
  *value = number;
  return true;
}

}  // namespace native_runner

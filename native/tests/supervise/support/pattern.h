#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "supervise/streams/output.h"

namespace native_runner {

// Bytes in which no two neighbouring stretches look alike, so that a shift or a gap shows.
inline std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1'664'525U + 1'013'904'223U;
    byte = static_cast<char>(state >> 24U);
  }
  return bytes;
}

inline std::string Text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace native_runner

#pragma once

#include <cstdint>

#include "protocol/decimal.h"

namespace native_runner {

// Which file it is, whatever its path (stat(2)): what the host has at a path and what a sandbox
// shows there are compared by it.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  constexpr bool operator==(const FileIdentity&) const = default;
};

// Reads "DEVICE:INODE:PATH", the form that rules have it in (order.h), and returns where the path
// begins; nullptr for any other text. No heap and no C library, as the launcher wants it.
constexpr const char* ParseIdentity(const char* text, FileIdentity* identity) {
  if (!TakeDecimal(&text, &identity->device) || *text++ != ':') return nullptr;
  if (!TakeDecimal(&text, &identity->inode) || *text++ != ':') return nullptr;
  return *text == '/' ? text : nullptr;
}

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace native_runner {

// Pieces of DNS messages, written the way they stand on the wire.
using Octets = std::vector<std::uint8_t>;

inline Octets operator+(Octets a, const Octets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Octets Header(std::uint8_t flags, std::uint8_t questions, std::uint8_t answers = 0,
                     std::uint8_t authorities = 0, std::uint8_t additional = 0) {
  return {0x12, 0x34, flags, 0, 0, questions, 0, answers, 0, authorities, 0, additional};
}

// "a.test" as labels.
inline Octets WireName(std::string_view name) {
  Octets bytes;
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    bytes.push_back(static_cast<std::uint8_t>(label.size()));
    bytes.insert(bytes.end(), label.begin(), label.end());
    name.remove_prefix(label.size() == name.size() ? label.size() : label.size() + 1);
  }
  bytes.push_back(0);
  return bytes;
}

inline Octets Question(std::string_view name, std::uint8_t type, std::uint8_t question_class = 1) {
  return WireName(name) + Octets{0, type, 0, question_class};
}

inline Octets Opt(std::uint16_t size, std::uint8_t version = 0) {
  return {0,
          0,
          41,
          static_cast<std::uint8_t>(size >> 8),
          static_cast<std::uint8_t>(size),
          0,
          version,
          0,
          0,
          0,
          0};
}

}  // namespace native_runner

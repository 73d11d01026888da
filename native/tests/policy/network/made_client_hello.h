#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace native_runner {

// Pieces of TLS, written the way they stand on the wire.
using TlsBytes = std::vector<std::uint8_t>;

inline TlsBytes Join(TlsBytes a, const TlsBytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `bytes` behind their number in `size` bytes.
inline TlsBytes Sized(unsigned size, const TlsBytes& bytes) {
  TlsBytes sized;
  for (unsigned i = size; i > 0; --i)
    sized.push_back(static_cast<std::uint8_t>(bytes.size() >> (8 * (i - 1))));
  return Join(std::move(sized), bytes);
}

inline TlsBytes Extension(std::uint16_t type, const TlsBytes& data) {
  return Join({static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type)},
              Sized(2, data));
}

inline TlsBytes NameEntry(std::string_view name, std::uint8_t type = 0) {
  return Join({type}, Sized(2, TlsBytes(name.begin(), name.end())));
}

inline TlsBytes ServerName(std::string_view name) {
  return Extension(0, Sized(2, NameEntry(name)));
}

// Returns the part of a ClientHello before its extensions.
inline TlsBytes HelloStart() {
  TlsBytes body = {3, 3};
  body.resize(2 + 32, 7);
  body = Join(body, Sized(1, TlsBytes(32, 9)));
  body = Join(body, Sized(2, {0x13, 0x01, 0x13, 0x02}));
  return Join(body, Sized(1, {0}));
}

inline TlsBytes HelloBody(const TlsBytes& extensions) {
  return Join(HelloStart(), Sized(2, extensions));
}

inline TlsBytes HelloMessage(const TlsBytes& body) {
  return Join({1}, Sized(3, body));
}

// The message in records of at most `size` bytes.
inline TlsBytes Records(const TlsBytes& message, std::size_t size = 16384) {
  TlsBytes bytes;
  for (std::size_t at = 0; at < message.size(); at += size) {
    const auto begin = message.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end =
        message.size() - at > size ? begin + static_cast<std::ptrdiff_t>(size) : message.end();
    bytes = Join(Join(std::move(bytes), {22, 3, 1}), Sized(2, TlsBytes(begin, end)));
  }
  return bytes;
}

}  // namespace native_runner

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace native_runner {

// Takes numbers in network order and runs of bytes off the front of a message. If the message is
// too short, returns nullopt and takes nothing. Does not own the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  std::span<const std::uint8_t> rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

  // Takes a number of `size` bytes, at most four.
  std::optional<std::uint32_t> Number(std::size_t size) {
    if (rest_.size() < size) return std::nullopt;
    std::uint32_t value = 0;
    for (const std::uint8_t byte : rest_.first(size))
      value = value << 8 | byte;
    rest_ = rest_.subspan(size);
    return value;
  }

  std::optional<std::span<const std::uint8_t>> Bytes(std::size_t size) {
    if (rest_.size() < size) return std::nullopt;
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  // Takes a length of `length_size` bytes and as many bytes as it says.
  std::optional<std::span<const std::uint8_t>> Vector(std::size_t length_size) {
    ByteReader ahead(rest_);
    const auto length = ahead.Number(length_size);
    const auto taken = length ? ahead.Bytes(*length) : std::nullopt;
    if (taken) rest_ = ahead.rest_;
    return taken;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace native_runner

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace native_runner {

// Returns the SHA-1 (FIPS 180-4) of both parts together, as 40 hexadecimal digits. Git's patches
// name files by it; it secures nothing here.
std::string Sha1(std::string_view first, std::string_view second);

// Computes the SHA-256 (FIPS 180-4) of bytes given in parts.
class Sha256 {
 public:
  // kPortable: without the processor's own instructions, where it has them.
  enum class By : std::uint8_t { kFastest, kPortable };

  explicit Sha256(By by = By::kFastest) : by_(by) {}

  void Update(std::span<const std::uint8_t> bytes);

  // Returns 64 hexadecimal digits. Nothing can be added afterwards.
  std::string Finish();

 private:
  static constexpr std::size_t kBlock = 64;
  void Take(const std::uint8_t* blocks, std::size_t count);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, kBlock> rest_{};
  std::uint64_t size_ = 0;
  By by_;
};

}  // namespace native_runner

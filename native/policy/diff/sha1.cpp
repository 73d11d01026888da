#include "policy/diff/sha1.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace native_runner {
namespace {

constexpr std::size_t kBlock = 64;

class Sha1State {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes)
      AddByte(static_cast<std::uint8_t>(byte));
  }

  std::string Finish() {
    const std::uint64_t bits = bytes_ * 8;
    AddByte(0x80);
    while (filled_ != kBlock - 8)
      AddByte(0);
    for (int shift = 56; shift >= 0; shift -= 8)
      AddByte(static_cast<std::uint8_t>(bits >> static_cast<unsigned>(shift)));
    constexpr std::string_view kHexadecimal = "0123456789abcdef";
    std::string text;
    for (const std::uint32_t word : state_) {
      for (int shift = 28; shift >= 0; shift -= 4)
        text += kHexadecimal[(word >> static_cast<unsigned>(shift)) & 15U];
    }
    return text;
  }

 private:
  void AddByte(std::uint8_t byte) {
    block_[filled_++] = byte;
    ++bytes_;
    if (filled_ == kBlock) Mix();
  }

  void Mix() {
    std::array<std::uint32_t, 80> words{};
    for (std::size_t at = 0; at < 16; ++at) {
      words[at] = std::uint32_t{block_[at * 4]} << 24U | std::uint32_t{block_[at * 4 + 1]} << 16U |
                  std::uint32_t{block_[at * 4 + 2]} << 8U | block_[at * 4 + 3];
    }
    for (std::size_t at = 16; at < words.size(); ++at)
      words[at] = std::rotl(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 1);
    auto [a, b, c, d, e] = state_;
    for (std::size_t at = 0; at < words.size(); ++at) {
      std::uint32_t mixed = b ^ c ^ d;
      std::uint32_t constant = at < 40 ? 0x6ed9eba1U : 0xca62c1d6U;
      if (at < 20) {
        mixed = (b & c) | (~b & d);
        constant = 0x5a827999U;
      } else if (at >= 40 && at < 60) {
        mixed = (b & c) | (b & d) | (c & d);
        constant = 0x8f1bbcdcU;
      }
      const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[at];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d, state_[4] + e};
    filled_ = 0;
  }

  std::array<std::uint32_t, 5> state_ = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U,
                                         0xc3d2e1f0U};
  std::array<std::uint8_t, kBlock> block_{};
  std::size_t filled_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::string Sha1(std::string_view first, std::string_view second) {
  Sha1State state;
  state.Add(first);
  state.Add(second);
  return state.Finish();
}

}  // namespace native_runner

#include "policy/text/digest.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

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

namespace {

constexpr std::size_t kRounds = 64;
constexpr std::size_t kLengthAt = 56;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, kRounds> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t WordAt(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 24U | static_cast<std::uint32_t>(at[1]) << 16U |
         static_cast<std::uint32_t>(at[2]) << 8U | at[3];
}

using Sha256State = std::array<std::uint32_t, 8>;

void TakeBlock(Sha256State* state, const std::uint8_t* block) {
  std::array<std::uint32_t, kRounds> words{};
  for (std::size_t at = 0; at < 16; ++at)
    words[at] = WordAt(block + 4 * at);
  for (std::size_t at = 16; at < kRounds; ++at) {
    const std::uint32_t early = words[at - 15];
    const std::uint32_t late = words[at - 2];
    const std::uint32_t small = std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3U;
    const std::uint32_t great = std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10U;
    words[at] = words[at - 16] + small + words[at - 7] + great;
  }
  auto [a, b, c, d, e, f, g, h] = *state;
  for (std::size_t at = 0; at < kRounds; ++at) {
    const std::uint32_t great = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t one = h + great + ((e & f) ^ (~e & g)) + kConstants[at] + words[at];
    const std::uint32_t small = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t two = small + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const Sha256State added = {a, b, c, d, e, f, g, h};
  for (std::size_t at = 0; at < state->size(); ++at)
    (*state)[at] += added[at];
}

void TakeBlocks(Sha256State* state, const std::uint8_t* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += kBlock)
    TakeBlock(state, blocks);
}

#if defined(__x86_64__)

// True if the processor has the instructions of TakeBlocksFast: SHA, SSSE3 and SSE4.1.
bool HasInstructions() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (ebx & bit_SHA) == 0) return false;
  constexpr unsigned kNeeded = bit_SSSE3 | bit_SSE4_1;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kNeeded) == kNeeded;
}

// As TakeBlocks, by the processor's instructions for SHA-256 (Intel's manual, "Intel SHA
// Extensions"): six times as fast. They want the state as two vectors, of A, B, E, F and of C, D,
// G, H.
__attribute__((target("sha,ssse3,sse4.1"))) void TakeBlocksFast(Sha256State* state,
                                                                const std::uint8_t* blocks,
                                                                std::size_t count) {
  auto* const words = reinterpret_cast<__m128i*>(state->data());
  const __m128i bytes_of_words = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; count > 0; --count, blocks += kBlock) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    // The message's words for these four rounds are the last; those for the rounds before precede.
    __m128i first = _mm_setzero_si128();
    __m128i second = first;
    __m128i third = first;
    __m128i last = first;
    for (std::size_t at = 0; at < kRounds; at += 4) {
      __m128i next{};
      if (at < 16) {
        const auto* from = reinterpret_cast<const __m128i*>(blocks + 4 * at);
        next = _mm_shuffle_epi8(_mm_loadu_si128(from), bytes_of_words);
      } else {
        const __m128i seven_before = _mm_alignr_epi8(last, third, 4);
        next = _mm_add_epi32(_mm_sha256msg1_epu32(first, second), seven_before);
        next = _mm_sha256msg2_epu32(next, last);
      }
      first = second;
      second = third;
      third = last;
      last = next;
      const auto* constants = reinterpret_cast<const __m128i*>(kConstants.data() + at);
      const __m128i added = _mm_add_epi32(last, _mm_loadu_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#endif

}  // namespace

void Sha256::Take(const std::uint8_t* blocks, std::size_t count) {
#if defined(__x86_64__)
  static const bool has_instructions = HasInstructions();
  if (by_ == By::kFastest && has_instructions) return TakeBlocksFast(&state_, blocks, count);
#endif
  TakeBlocks(&state_, blocks, count);
}

void Sha256::Update(std::span<const std::uint8_t> bytes) {
  std::size_t filled = size_ % kBlock;
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (filled == 0 && bytes.size() >= kBlock) {
      const std::size_t count = bytes.size() / kBlock;
      Take(bytes.data(), count);
      bytes = bytes.subspan(count * kBlock);
      continue;
    }
    const std::size_t count = std::min(bytes.size(), kBlock - filled);
    std::memcpy(rest_.data() + filled, bytes.data(), count);
    bytes = bytes.subspan(count);
    filled = (filled + count) % kBlock;
    if (filled == 0) Take(rest_.data(), 1);
  }
}

std::string Sha256::Finish() {
  const std::uint64_t bits = size_ * 8;
  std::size_t filled = size_ % kBlock;
  rest_[filled++] = 0x80;
  if (filled > kLengthAt) {
    std::fill(rest_.begin() + static_cast<std::ptrdiff_t>(filled), rest_.end(), std::uint8_t{0});
    Take(rest_.data(), 1);
    filled = 0;
  }
  std::fill(rest_.begin() + static_cast<std::ptrdiff_t>(filled), rest_.end(), std::uint8_t{0});
  for (std::size_t at = 0; at < 8; ++at)
    rest_[kLengthAt + at] = static_cast<std::uint8_t>(bits >> (56 - 8 * at));
  Take(rest_.data(), 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4)
      text += kDigits[word >> static_cast<unsigned>(shift) & 15U];
  return text;
}

}  // namespace native_runner

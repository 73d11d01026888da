#include "policy/diff/git_binary.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "policy/diff/sha1.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostStored = 65'535;  // of a stored block (RFC 1951)
constexpr std::size_t kMostInLine = 52;
constexpr std::string_view kDigits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

char Low(std::size_t value) {
  return static_cast<char>(value & 255U);
}

// RFC 1950.
std::uint32_t Adler32(std::string_view bytes) {
  constexpr std::uint32_t kPrime = 65'521;
  std::uint32_t one = 1;
  std::uint32_t two = 0;
  for (const char byte : bytes) {
    one = (one + static_cast<std::uint8_t>(byte)) % kPrime;
    two = (two + one) % kPrime;
  }
  return (two << 16U) | one;
}

std::string Stored(std::string_view bytes) {
  const std::uint32_t check = Adler32(bytes);
  std::string stream = "\x78\x01";
  stream.reserve(bytes.size() + bytes.size() / 1000 + 32);
  do {
    const std::size_t size = std::min(bytes.size(), kMostStored);
    stream += size == bytes.size() ? '\1' : '\0';
    stream += Low(size);
    stream += Low(size >> 8U);
    stream += Low(~size);
    stream += Low(~size >> 8U);
    stream += bytes.substr(0, size);
    bytes.remove_prefix(size);
  } while (!bytes.empty());
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    stream += Low(check >> shift);
  return stream;
}

void AddLine(std::string_view bytes, std::string* text) {
  const auto size = static_cast<char>(bytes.size());
  *text += static_cast<char>(size <= 26 ? 'A' + size - 1 : 'a' + size - 27);
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    std::uint32_t word = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) {
      word <<= 8U;
      if (at + byte < bytes.size()) word |= static_cast<std::uint8_t>(bytes[at + byte]);
    }
    std::array<char, 5> digits{};
    for (std::size_t digit = digits.size(); digit > 0; --digit) {
      digits[digit - 1] = kDigits[word % 85];
      word /= 85;
    }
    text->append(digits.data(), digits.size());
  }
  *text += '\n';
}

}  // namespace

std::string GitLiteral(std::string_view bytes) {
  std::string text = "literal " + std::to_string(bytes.size()) + "\n";
  const std::string stream = Stored(bytes);
  std::string_view rest = stream;
  while (!rest.empty()) {
    AddLine(rest.substr(0, kMostInLine), &text);
    rest.remove_prefix(std::min(rest.size(), kMostInLine));
  }
  return text + "\n";
}

std::string GitBlobName(std::string_view bytes) {
  const std::string header = "blob " + std::to_string(bytes.size());
  return Sha1(std::string_view(header.c_str(), header.size() + 1), bytes);
}

}  // namespace native_runner

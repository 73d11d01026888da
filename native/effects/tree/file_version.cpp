#include "effects/tree/file_version.h"

#include <array>
#include <charconv>

namespace native_runner {
namespace {

constexpr int kBase = 16;
constexpr char kBetween = '-';

void Append(std::string& text, std::uint64_t number) {
  std::array<char, 2 * sizeof(number)> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, kBase).ptr;
  if (!text.empty()) text += kBetween;
  text.append(digits.data(), end);
}

}  // namespace

std::string FileVersion::Text() const {
  std::string text;
  for (const std::uint64_t number : {device, inode, handle, size, modified, changed})
    Append(text, number);
  return text;
}

std::optional<FileVersion> FileVersion::Parse(std::string_view text) {
  FileVersion version;
  const std::array<std::uint64_t*, 6> numbers = {&version.device,   &version.inode,
                                                 &version.handle,   &version.size,
                                                 &version.modified, &version.changed};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint64_t* number : numbers) {
    if (number != numbers.front()) {
      if (at == end || *at++ != kBetween) return std::nullopt;
    }
    const auto [next, error] = std::from_chars(at, end, *number, kBase);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(version) : std::nullopt;
}

}  // namespace native_runner

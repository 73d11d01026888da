#include "policy/changes/change_version.h"

#include <array>
#include <charconv>

namespace native_runner {
namespace {

constexpr int kBase = 16;

std::string Digits(std::uint64_t number) {
  std::array<char, 2 * sizeof(number)> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, kBase).ptr;
  return {digits.data(), end};
}

}  // namespace

std::string VersionOf(const Change& change) {
  if (change.mode == 0) return "gone";
  if (change.type == Change::Type::kDirectory) return "directory-" + Digits(change.mode);
  return Digits(change.inode) + "-" + Digits(change.changed_ns);
}

}  // namespace native_runner

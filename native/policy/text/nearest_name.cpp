#include "policy/text/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace native_runner {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kShortestPart = 3;

std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      plain += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      plain += c;
    }
  }
  return plain;
}

std::string_view LastPart(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::size_t Distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

bool IsPart(const std::string& part, const std::string& whole) {
  return part.size() >= kShortestPart && whole.find(part) != std::string::npos;
}

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kLongestName) return {};
  const std::string plain = Plain(name);
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view each : known) {
    const std::size_t distance = Distance(plain, Plain(LastPart(each)));
    if (distance >= least) continue;
    least = distance;
    nearest = each;
  }
  if (!nearest.empty()) return nearest;
  for (const std::string_view each : known) {
    const std::string other = Plain(LastPart(each));
    if (IsPart(plain, other) || IsPart(other, plain)) return each;
  }
  return {};
}

}  // namespace native_runner

#include "policy/network/rules/private_rule.h"

#include <optional>
#include <utility>

#include "policy/network/address/address_kind.h"
#include "policy/network/address/ip_parse.h"
#include "policy/network/name/host.h"

namespace native_runner {
namespace {

constexpr char kBlockWanted[] =
    R"(an address in its plain spelling ("10.0.0.5", "fd00::1") or a block whose host bits are 0 ("10.0.0.0/8"))";

// "10.0.0.5/8" was meant as the block that it lies in, or as the address alone: which one it has to
// say.
std::optional<std::string> BlockMeant(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = ParsePlainIpAddress(text.substr(0, slash));
  if (!address || slash == std::string_view::npos) return std::nullopt;
  for (unsigned length = 0; length <= 128; ++length) {
    if (text.substr(slash + 1) != std::to_string(length)) continue;
    const std::string block = CidrText(BlockOf(*address, length));
    return "a block whose host bits are 0, such as \"" + block + "\"";
  }
  return std::nullopt;
}

}  // namespace

bool PrivateRule::Permits(const HostName& host, const IpAddress& address) const {
  const AddressKind kind = KindOf(address);
  if (const auto* block = std::get_if<Cidr>(&what)) {
    return CanBeNamed(kind) && block->Contains(address);
  }
  return CanBeNamedByHost(kind) && std::get<NamePattern>(what).Matches(host);
}

std::string PrivateRule::text() const {
  const auto* block = std::get_if<Cidr>(&what);
  return block != nullptr ? CidrText(*block) : std::get<NamePattern>(what).text();
}

Result<PrivateRule> ReadPrivateRule(std::string_view text, std::string_view field) {
  if (const auto block = ParseCidr(text)) return PrivateRule{.what = *block};
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos || ParseIpAddress(text)) {
    return UnexpectedRule(field, BlockMeant(text).value_or(kBlockWanted), text);
  }
  const auto parts = SplitHostPort(text);
  if (!parts) return UnexpectedRule(field, kBlockWanted, text);
  if (parts->port) {
    return UnexpectedRule(field, "a host or a block of addresses without a port", text);
  }
  auto pattern = ReadNamePattern(text, field);
  if (!pattern) return pattern.error();
  return PrivateRule{.what = std::move(pattern.value())};
}

}  // namespace native_runner

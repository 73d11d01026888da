#include "policy/network/synthetic/synthetic_addresses.h"

#include <algorithm>

namespace native_runner {
namespace {

constexpr std::uint32_t kV4Base = 0x7f010000;  // 127.1.0.0/16
constexpr std::size_t kMostNumbers = 0xffff;
// RFC 4193 3.2: a prefix whose 40 bits were drawn at random, once.
constexpr IpAddress::V6Bytes kV6Base = {0xfd, 0x5b, 0x91, 0x0e, 0xc7, 0x3a};

SyntheticAddresses::Pair PairOf(std::uint32_t number) {
  IpAddress::V6Bytes bytes = kV6Base;
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return {.v4 = IpAddress::V4(kV4Base | number), .v6 = IpAddress::V6(bytes)};
}

}  // namespace

SyntheticAddresses::SyntheticAddresses(std::span<const HostName> known, std::size_t most)
    : most_(std::min(most, kMostNumbers)) {
  for (const HostName& name : known)
    (void)Assign(name);
}

std::optional<SyntheticAddresses::Pair> SyntheticAddresses::Assign(const HostName& name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return PairOf(found->second);
  if (names_.size() >= most_) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(names_.size() + 1);
  names_.push_back(&numbers_.emplace(name, number).first->first);
  return PairOf(number);
}

const HostName* SyntheticAddresses::NameOf(const IpAddress& address) const {
  const Cidr block = address.is_v4() ? V4Block() : V6Block();
  if (!block.Contains(address)) return nullptr;
  const auto bytes = address.bytes();
  const std::uint32_t number = FourBytes(bytes, bytes.size() - 4) & kMostNumbers;
  return number >= 1 && number <= names_.size() ? names_[number - 1] : nullptr;
}

Cidr SyntheticAddresses::V4Block() {
  return {.base = IpAddress::V4(kV4Base), .length = 16};
}

Cidr SyntheticAddresses::V6Block() {
  return {.base = IpAddress::V6(kV6Base), .length = 112};
}

}  // namespace native_runner

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/network/address/ip_address.h"

namespace native_runner {

// A block of addresses (RFC 4632, RFC 4291 2.3). The bits behind `length` are zero.
struct Cidr {
  IpAddress base;
  unsigned length = 32;  // 0 to 32, or to 128

  bool Contains(const IpAddress& address) const;
};

// An address in its plain spelling, alone or with "/length". Host bits that are set are no mistake
// to guess about ("10.0.0.5/8"): nullopt, as for anything else that is not a block. A block of
// mapped IPv6 addresses ("::ffff:10.0.0.0/104") is the IPv4 block.
std::optional<Cidr> ParseCidr(std::string_view text);

// The block of that length in which `address` lies.
Cidr BlockOf(const IpAddress& address, unsigned length);

// "10.0.0.0/8"; a single address without its length.
std::string CidrText(const Cidr& block);

}  // namespace native_runner

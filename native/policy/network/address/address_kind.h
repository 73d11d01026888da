#pragma once

#include "policy/network/address/ip_address.h"

namespace native_runner {

// What an address is for, by IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890,
// RFC 8190) and the address-family allocations. The table is in address_kind.cpp.
enum class AddressKind {
  kPublic,
  kUnspecified,  // 0.0.0.0/8 and ::, which a connect takes for the host's own loopback
  kLoopback,
  kPrivate,
  kShared,  // carrier-grade NAT
  kLinkLocal,
  kUniqueLocal,
  kMulticast,
  kBroadcast,
  kDocumentation,
  kBenchmarking,
  kProtocolAssignments,
  kNat64Local,
  kSixToFour,
  kTeredo,
  kIpv4Compatible,
  kDiscardOnly,
  kSiteLocal,
  kSegmentRouting,
  kReserved,
};

// An address of NAT64's well-known prefix is what the IPv4 address in it is.
AddressKind KindOf(const IpAddress& address);

// "public", "loopback", "link-local" and so on, for records and messages.
const char* AddressKindName(AddressKind kind);

// Whether it may be connected to when a policy names it by its address: not what no TCP peer has,
// and not what connects to something else than it says.
bool CanBeNamed(AddressKind kind);

// Whether a policy that names the host lets its names lead there. Not to link-local addresses: on
// many machines 169.254.169.254 gives credentials away, so these have to be named as addresses.
bool CanBeNamedByHost(AddressKind kind);

}  // namespace native_runner

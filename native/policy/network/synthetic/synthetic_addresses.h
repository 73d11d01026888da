#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "policy/network/address/cidr.h"
#include "policy/network/address/ip_address.h"
#include "policy/network/name/host_name.h"

namespace native_runner {

// The addresses that names have inside one sandbox: a connection to one says which name was meant.
// 127.1.0.1, 127.1.0.2 … and the same numbers in a unique-local prefix of IPv6 (RFC 4193), in the
// order in which names are asked for; so the same questions give the same addresses. For one
// thread.
//
// An address never goes to another name: programs keep what they resolved for as long as they like,
// and would reach a host that they did not ask for. So the number of names is bounded, and who asks
// for one more gets none. Names that are known beforehand have theirs from the beginning, and can't
// be crowded out by names below a wildcard.
class SyntheticAddresses {
 public:
  static constexpr std::size_t kMostNames = 4096;

  struct Pair {
    IpAddress v4;
    IpAddress v6;
  };

  explicit SyntheticAddresses(std::span<const HostName> known = {}, std::size_t most = kMostNames);
  SyntheticAddresses(SyntheticAddresses&&) = default;
  SyntheticAddresses& operator=(SyntheticAddresses&&) = default;

  // Those of `name`, given now if it has none; nullopt when there are no more.
  std::optional<Pair> Assign(const HostName& name);
  // Whose address it is, for either of a pair; nullptr for nobody's. Valid as long as this lives.
  const HostName* NameOf(const IpAddress& address) const;
  std::size_t size() const { return names_.size(); }

  // The blocks they are of: what has to lead to the sandbox's own loopback.
  static Cidr V4Block();
  static Cidr V6Block();

 private:
  std::map<HostName, std::uint32_t> numbers_;  // from 1 on
  std::vector<const HostName*> names_;         // by number - 1; keys of the map
  std::size_t most_;
};

}  // namespace native_runner

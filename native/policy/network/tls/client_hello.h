#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "policy/network/name/host_name.h"

namespace native_runner {

// What a TLS client says about itself in a whole ClientHello (RFC 8446 4.1.2; the same in older
// versions). An encrypted one (ECH, RFC 9849) shows its outer name only, and many clients send an
// extension that only looks like one; so `has_ech` says that the name may not be all.
struct ClientHello {
  std::optional<HostName> server_name;
  bool has_ech = false;
};

// `body` is what the handshake message holds behind its header; nullopt where it is malformed: a
// length that does not fit, bytes behind the end, an extension twice, a list of server names other
// than one host name, a name that is none. Pure.
std::optional<ClientHello> DecodeClientHello(std::span<const std::uint8_t> body);

}  // namespace native_runner

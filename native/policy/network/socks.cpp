#include "policy/network/socks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/network/byte_reader.h"

namespace native_runner {
namespace {

constexpr std::uint8_t kVersion = 5;
constexpr std::uint8_t kNoAuthentication = 0;
constexpr std::uint8_t kNoMethod = 0xff;
constexpr std::uint32_t kConnect = 1;
constexpr std::uint32_t kUdpAssociate = 3;
constexpr std::uint32_t kIpv4 = 1;
constexpr std::uint32_t kName = 3;
constexpr std::uint32_t kIpv6 = 4;

using Bytes = std::span<const std::uint8_t>;

bool BeginsWithVersion(Bytes bytes) {
  return bytes.empty() || bytes.front() == kVersion;
}

// Takes an address of a known kind, without its length; nullopt until it is complete.
std::optional<Bytes> TakeAddress(ByteReader* reader, std::uint32_t kind) {
  if (kind == kName) return reader->Vector(1);
  return reader->Bytes(kind == kIpv4 ? 4 : 16);
}

void SetHost(SocksRequest* request, std::uint32_t kind, Bytes address) {
  if (kind == kName) {
    request->asked.assign(address.begin(), address.end());
    auto host = ParseHost(request->asked);
    if (host) {
      request->host = std::move(host.value());
    } else if (request->reply == SocksReply::kSucceeded) {
      request->reply = SocksReply::kNotAllowed;
    }
    return;
  }
  IpAddress::V6Bytes bytes{};
  std::copy(address.begin(), address.end(), bytes.begin());
  request->host = kind == kIpv4 ? IpAddress::V4(FourBytes(bytes, 0)) : IpAddress::V6(bytes);
  request->asked = HostText(request->host);
}

SocksRequest Malformed() {
  SocksRequest request;
  request.state = SocksState::kMalformed;
  request.reply = SocksReply::kFailure;
  return request;
}

}  // namespace

SocksGreeting ReadSocksGreeting(Bytes bytes) {
  if (!BeginsWithVersion(bytes)) return {.state = SocksState::kMalformed};
  ByteReader reader(bytes);
  (void)reader.Number(1);
  const auto methods = reader.Vector(1);
  if (!methods) return {};
  if (methods->empty()) return {.state = SocksState::kMalformed};
  return {.state = SocksState::kComplete,
          .size = bytes.size() - reader.rest().size(),
          .offers_none =
              std::find(methods->begin(), methods->end(), kNoAuthentication) != methods->end()};
}

std::array<std::uint8_t, 2> EncodeSocksMethod(bool accepts) {
  return {kVersion, accepts ? kNoAuthentication : kNoMethod};
}

SocksRequest ReadSocksRequest(Bytes bytes) {
  if (!BeginsWithVersion(bytes)) return Malformed();
  ByteReader reader(bytes);
  (void)reader.Number(1);
  const auto command = reader.Number(1);
  const auto reserved = reader.Number(1);
  const auto kind = reader.Number(1);
  SocksRequest request;
  if (!kind) return request;
  if (*reserved != 0 || *command == 0 || *command > kUdpAssociate) return Malformed();
  if (*kind != kIpv4 && *kind != kName && *kind != kIpv6) {
    // The length of such an address is unknown, so the request is answered and nothing more is
    // read.
    request = Malformed();
    request.reply = SocksReply::kAddressNotSupported;
    return request;
  }
  const auto address = TakeAddress(&reader, *kind);
  const auto port = address ? reader.Number(2) : std::nullopt;
  if (!port) return request;
  request.state = SocksState::kComplete;
  request.size = bytes.size() - reader.rest().size();
  request.port = static_cast<std::uint16_t>(*port);
  if (*command != kConnect) {
    request.reply = SocksReply::kCommandNotSupported;
  } else if (*port == 0) {
    request.reply = SocksReply::kNotAllowed;
  }
  SetHost(&request, *kind, *address);
  return request;
}

std::array<std::uint8_t, 10> EncodeSocksReply(SocksReply reply) {
  return {kVersion, static_cast<std::uint8_t>(reply), 0, kIpv4, 0, 0, 0, 0, 0, 0};
}

}  // namespace native_runner

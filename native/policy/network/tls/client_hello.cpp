#include "policy/network/tls/client_hello.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "policy/network/wire/byte_reader.h"

namespace native_runner {
namespace {

constexpr std::size_t kVersionAndRandomBytes = 2 + 32;
constexpr std::size_t kMostSessionIdBytes = 32;
constexpr std::uint32_t kServerName = 0;           // RFC 6066 3
constexpr std::uint32_t kEncryptedHello = 0xfe0d;  // RFC 9849
constexpr std::uint32_t kHostNameType = 0;

// RFC 6066 3: a list, in which no type may be twice; host_name is the only one there is. A list of
// several is read differently by different servers.
std::optional<HostName> DecodeServerName(std::span<const std::uint8_t> extension) {
  ByteReader reader(extension);
  const auto list = reader.Vector(2);
  if (!list || !reader.empty()) return std::nullopt;
  ByteReader names(*list);
  const auto type = names.Number(1);
  const auto bytes = names.Vector(2);
  if (type != kHostNameType || !bytes || !names.empty()) return std::nullopt;
  auto name = ParseHostName(std::string(bytes->begin(), bytes->end()));
  return name ? std::optional(std::move(name.value())) : std::nullopt;
}

// Version, random, session, cipher suites and compression, none of which is asked for.
bool SkipToExtensions(ByteReader* reader) {
  if (!reader->Bytes(kVersionAndRandomBytes)) return false;
  const auto session = reader->Vector(1);
  if (!session || session->size() > kMostSessionIdBytes) return false;
  const auto suites = reader->Vector(2);
  if (!suites || suites->empty() || suites->size() % 2 != 0) return false;
  const auto compression = reader->Vector(1);
  return compression && !compression->empty();
}

bool HasTwice(std::vector<std::uint32_t> types) {
  std::sort(types.begin(), types.end());
  return std::adjacent_find(types.begin(), types.end()) != types.end();
}

}  // namespace

std::optional<ClientHello> DecodeClientHello(std::span<const std::uint8_t> body) {
  ByteReader reader(body);
  if (!SkipToExtensions(&reader)) return std::nullopt;
  ClientHello hello;
  if (reader.empty()) return hello;  // TLS 1.2 and older may have none
  const auto block = reader.Vector(2);
  if (!block || !reader.empty()) return std::nullopt;
  ByteReader extensions(*block);
  std::vector<std::uint32_t> types;
  while (!extensions.empty()) {
    const auto type = extensions.Number(2);
    const auto data = extensions.Vector(2);
    if (!type || !data) return std::nullopt;
    types.push_back(*type);
    if (*type == kEncryptedHello) hello.has_ech = true;
    if (*type != kServerName) continue;
    hello.server_name = DecodeServerName(*data);
    if (!hello.server_name) return std::nullopt;
  }
  return HasTwice(std::move(types)) ? std::nullopt : std::optional(std::move(hello));
}

}  // namespace native_runner

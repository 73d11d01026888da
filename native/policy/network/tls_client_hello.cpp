#include "policy/network/tls_client_hello.h"

#include <algorithm>
#include <string>
#include <utility>

#include "policy/network/byte_reader.h"

namespace native_runner {
namespace {

constexpr std::size_t kVersionAndRandomBytes = 2 + 32;
constexpr std::size_t kMostSessionIdBytes = 32;
constexpr std::uint32_t kServerName = 0;           // RFC 6066 3
constexpr std::uint32_t kEncryptedHello = 0xfe0d;  // RFC 9849
constexpr std::uint32_t kHostNameType = 0;

// Decodes the server name. RFC 6066 3: a list with each type at most once; host_name is the only
// type. Servers disagree about a list of several names, so it is refused.
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

// Skips version, random, session, cipher suites and compression.
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

namespace {

constexpr std::size_t kRecordHeaderBytes = 5;
constexpr std::size_t kMessageHeaderBytes = 4;
constexpr std::size_t kMostFragmentBytes = 1 << 14;  // RFC 8446 5.1
constexpr std::uint8_t kHandshake = 22;
constexpr std::uint8_t kMajorVersion = 3;
constexpr std::uint8_t kClientHelloType = 1;

}  // namespace

HelloState HelloReader::Feed(std::span<const std::uint8_t> bytes) {
  while (state_ == HelloState::kNeedsMore && !bytes.empty()) {
    if (stream_bytes_ >= kMostStreamBytes) {
      state_ = HelloState::kMalformed;
    } else if (fragment_bytes_ == 0) {
      FeedHeader(&bytes);
    } else {
      FeedFragment(&bytes);
    }
  }
  return state_;
}

// Takes one byte at a time, so that the first byte shows that a stream is not TLS: its client may
// wait for an answer then.
void HelloReader::FeedHeader(std::span<const std::uint8_t>* bytes) {
  header_.push_back(bytes->front());
  *bytes = bytes->subspan(1);
  ++stream_bytes_;
  const bool is_first = message_.empty();
  const bool is_handshake = header_[0] == kHandshake;
  const bool is_version = header_.size() < 2 || header_[1] == kMajorVersion;
  if (!is_handshake || !is_version) {
    state_ = is_first ? HelloState::kNotTls : HelloState::kMalformed;
    return;
  }
  if (header_.size() < kRecordHeaderBytes) return;
  fragment_bytes_ = static_cast<std::size_t>(header_[3] << 8 | header_[4]);
  header_.clear();
  // RFC 8446 5.1 forbids an empty fragment of a handshake message.
  if (fragment_bytes_ == 0 || fragment_bytes_ > kMostFragmentBytes) {
    state_ = HelloState::kMalformed;
  }
}

void HelloReader::FeedFragment(std::span<const std::uint8_t>* bytes) {
  const std::size_t size =
      std::min({bytes->size(), fragment_bytes_, kMostStreamBytes - stream_bytes_});
  message_.insert(message_.end(), bytes->begin(),
                  bytes->begin() + static_cast<std::ptrdiff_t>(size));
  *bytes = bytes->subspan(size);
  fragment_bytes_ -= size;
  stream_bytes_ += size;
  CheckMessage();
}

void HelloReader::CheckMessage() {
  if (!message_.empty() && message_[0] != kClientHelloType) {
    state_ = HelloState::kMalformed;
    return;
  }
  ByteReader reader(message_);
  if (!reader.Number(1)) return;
  const auto length = reader.Number(3);
  if (!length) return;
  if (*length > kMostHelloBytes - kMessageHeaderBytes) {
    state_ = HelloState::kMalformed;
    return;
  }
  const auto body = reader.Bytes(*length);
  if (!body) return;
  // Bytes that follow in the record are another message, which no client sends before an answer.
  auto hello = reader.empty() && fragment_bytes_ == 0 ? DecodeClientHello(*body) : std::nullopt;
  if (!hello) {
    state_ = HelloState::kMalformed;
    return;
  }
  hello_ = std::move(*hello);
  state_ = hello_.server_name ? HelloState::kHasName : HelloState::kHasNone;
}

}  // namespace native_runner

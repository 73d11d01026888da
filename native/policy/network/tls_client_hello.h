#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/network/host_name.h"

namespace native_runner {

// The name that a TLS client sends in a complete ClientHello (RFC 8446 4.1.2; the same in older
// versions). An encrypted one (ECH, RFC 9849) shows only its outer name. Many clients send an
// extension that merely looks like ECH, so `has_ech` means that there may be another name.
struct ClientHello {
  std::optional<HostName> server_name;
  bool has_ech = false;
};

// Decodes a ClientHello. `body` is the handshake message without its header. Returns nullopt if it
// is malformed: a length that does not fit, bytes after the end, a repeated extension, a list of
// server names other than one host name, an invalid name. Pure.
std::optional<ClientHello> DecodeClientHello(std::span<const std::uint8_t> body);

enum class HelloState {
  kNeedsMore,
  kHasName,    // hello().server_name is the SNI
  kHasNone,    // a ClientHello without a server name
  kNotTls,     // the first bytes belong to another protocol
  kMalformed,  // TLS, but no ClientHello that a server would take, or too long
};

// Finds the ClientHello at the beginning of a client's stream, which comes in pieces of any size:
// it may span several records, and the records several segments. Keeps only the handshake message;
// the caller keeps the bytes, to send them on. Work and memory are linear in the bytes fed, and
// bounded by the two limits.
class HelloReader {
 public:
  // The longest handshake message, and the longest beginning of a stream, records' headers
  // included. Clients send up to 2 KiB, or 5 KiB with several post-quantum keys.
  static constexpr std::size_t kMostHelloBytes = 32 * 1024;
  static constexpr std::size_t kMostStreamBytes = 64 * 1024;

  // Takes the next bytes of the stream. Once the state has left kNeedsMore, it no longer changes.
  HelloState Feed(std::span<const std::uint8_t> bytes);

  HelloState state() const { return state_; }
  // Valid in kHasName and kHasNone.
  const ClientHello& hello() const { return hello_; }

 private:
  void FeedHeader(std::span<const std::uint8_t>* bytes);
  void FeedFragment(std::span<const std::uint8_t>* bytes);
  void CheckMessage();

  HelloState state_ = HelloState::kNeedsMore;
  ClientHello hello_;
  std::vector<std::uint8_t> header_;   // of the current record
  std::size_t fragment_bytes_ = 0;     // of the current record, still to come
  std::vector<std::uint8_t> message_;  // the handshake message, with its header
  std::size_t stream_bytes_ = 0;
};

}  // namespace native_runner

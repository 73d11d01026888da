#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/network/host_name.h"

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

enum class HelloState {
  kNeedsMore,
  kHasName,    // hello().server_name is the SNI
  kHasNone,    // a ClientHello without a server name
  kNotTls,     // the first bytes are of something else
  kMalformed,  // TLS, but no ClientHello that a server would take, or one too long
};

// Finds the ClientHello at the beginning of what a client sends, in pieces of any size: it may lie
// in several records, and the records in several segments. It keeps the handshake message only;
// whoever feeds it keeps the bytes, to send them on. Work and memory are linear in what is fed, and
// bounded by the two limits.
class HelloReader {
 public:
  // The longest handshake message, and the longest beginning of a stream, records' headers
  // included. Clients send up to 2 KiB, with several post-quantum keys 5.
  static constexpr std::size_t kMostHelloBytes = 32 * 1024;
  static constexpr std::size_t kMostStreamBytes = 64 * 1024;

  // Takes the next bytes of the stream. Once the state is another than kNeedsMore, it stays.
  HelloState Feed(std::span<const std::uint8_t> bytes);

  HelloState state() const { return state_; }
  // In kHasName and kHasNone.
  const ClientHello& hello() const { return hello_; }

 private:
  void FeedHeader(std::span<const std::uint8_t>* bytes);
  void FeedFragment(std::span<const std::uint8_t>* bytes);
  void CheckMessage();

  HelloState state_ = HelloState::kNeedsMore;
  ClientHello hello_;
  std::vector<std::uint8_t> header_;   // of the record that is being read
  std::size_t fragment_bytes_ = 0;     // of the record, still to come
  std::vector<std::uint8_t> message_;  // the handshake message, with its header
  std::size_t stream_bytes_ = 0;
};

}  // namespace native_runner

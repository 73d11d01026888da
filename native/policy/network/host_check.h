#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/network/http.h"

namespace native_runner {

// True if `value`, a Host field or an authority, names a loopback of this machine: "localhost", a
// name below it, an address of 127.0.0.0/8 or "[::1]", with `port` or without any.
bool IsLoopbackHost(std::string_view value, std::uint16_t port);

// Decides if the first bytes that a client sends to a forwarded port may pass. A request of HTTP/1
// passes only if it names a loopback: a web page whose name was made to lead to 127.0.0.1 (DNS
// rebinding) names its own host. Any other protocol passes. Each byte is read once; the checks end
// with the first head, since a browser uses a connection for one origin only.
class HostCheck {
 public:
  enum class State { kNeedsMore, kPasses, kRefused };

  // The most bytes of a head.
  static constexpr std::size_t kMostHead = std::size_t{64} << 10U;

  // `port`: of the listener.
  explicit HostCheck(std::uint16_t port) : port_(port) {}

  // Reads the next bytes. Nothing may follow kPasses or kRefused.
  State Feed(std::string_view bytes);
  // The client sends no more.
  State End();

  // In kNeedsMore. False: nothing that came is part of a request yet but its method, so all of it
  // may pass, as protocols need whose first message has no line end. Once true, it stays true.
  bool holds() const { return holds_; }

  // In kRefused: a status (RFC 9110 15) and a clause.
  unsigned status() const { return status_; }
  const std::string& reason() const { return reason_; }

 private:
  void FeedLine(char next);
  void FeedHead(std::string_view bytes);
  bool MayBeTarget() const;
  void EndLine();
  void Refuse(unsigned status, std::string reason);
  void CheckHost();

  std::uint16_t port_;
  State state_ = State::kNeedsMore;
  bool holds_ = false;
  bool is_http_ = false;
  std::uint64_t method_size_ = 0;
  std::string line_;  // as it came, but for what is over kMostMethod of the method
  std::size_t target_at_ = 0;
  std::size_t head_size_ = 0;
  HeadParser parser_{HeadParser::Kind::kRequest};
  unsigned status_ = 0;
  std::string reason_;
};

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "policy/network/host_name.h"
#include "policy/network/tls_client_hello.h"
#include "supervise/network/connection.h"
#include "supervise/network/dialer.h"
#include "supervise/network/relay.h"
#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// A connection that is relayed unchanged until it ends.
class Relayed : public Connection {
 public:
  // Adds to the byte counts that `record` already has.
  Relayed(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
          SocketStream client, SocketStream host, std::unique_ptr<OpenRecord> record);

  void Start() override;
  void TimedOut() override;
  void Drain() override;

 private:
  void Changed();
  void Count();

  std::unique_ptr<OpenRecord> record_;
  std::uint64_t before_out_;
  std::uint64_t before_in_;
  Relay relay_;
};

// A connection to a host and port that the client named: by the address it connected to, by CONNECT
// or by SOCKS. It is decided, connected, checked if its port prescribes a protocol, and relayed.
// Until then only the bytes to check are read from the client.
class Tunnel : public Connection {
 public:
  // `client` is open; its `input` is the data after the request.
  Tunnel(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
         SocketStream client, NamedHost host, std::uint16_t port, ConnectionVia via);
  ~Tunnel() override;

  void Start() override;
  void TimedOut() override;
  void Drain() override;

 private:
  void Decided(Admission admission);
  void WaitForOthers();
  void Dial();
  void DialEnded(Dialled dialled);
  void BeginCheck();
  void Check();
  void Proceed();
  void EndTls();
  void RelayTo(SocketStream host);
  bool ends_tls() const;  // once it is admitted
  bool IsTls() const;
  void SpeakHttp();

  ConnectionRecord RecordOf(bool allowed, std::string reason) const;
  void Refuse(bool allowed, const std::string& reason, DialState state);
  void Abandon(const std::string& reason);
  bool is_transparent() const { return via_ == ConnectionVia::kTransparent; }

  SocketStream client_;
  SocketStream host_stream_;
  NamedHost host_;
  std::uint16_t port_;
  ConnectionVia via_;
  std::string rule_;
  std::optional<IpAddress> address_;
  std::uint64_t question_ = 0;
  bool is_admitted_ = false;
  bool has_replied_ = false;
  bool is_checking_ = false;
  bool is_over_ = false;
  Dialer dialer_;
  HelloReader hello_;
  std::size_t checked_ = 0;  // checked bytes of the client's input
};

// A connection for lib's terminator, which ends its TLS: the sockets towards the command and the
// host.
struct TerminatedConnection {
  Descriptor client;
  Descriptor host;
  std::uint64_t run = 0;  // the terminator's number of the run, or the session, that made it
  std::uint16_t port = 0;
  std::string_view via;   // ConnectionViaName
  std::string_view name;  // the host's
};

// The two ends of a channel to the terminator of a Node environment. The terminator is a thread of
// this process, so that numbers of descriptors are all that has to be sent.
struct TerminatorEnds {
  Descriptor ours;    // never waits
  Descriptor theirs;  // lines of text, see HandToTerminator
};
Result<TerminatorEnds> MakeTerminatorChannel();

// Hands a connection over by a line "CLIENT HOST RUN PORT VIA NAME": the terminator owns the
// descriptors from then on. Returns false if it does not take it, and closes them.
[[nodiscard]] bool HandToTerminator(int channel, TerminatedConnection connection);

}  // namespace native_runner

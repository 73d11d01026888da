#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "policy/network/http.h"
#include "supervise/network/connection.h"
#include "supervise/network/dialer.h"
#include "supervise/network/sockets.h"
#include "supervise/os/handle.h"

namespace native_runner {

// Serves the requests of one client, one after the other: each is read, decided, rewritten for its
// host and answered before the next is read, so no request can hide behind another. The connection
// to the host is kept for the next request to the same host and port. An upgrade to WebSocket is
// relayed once the host has agreed with 101; CONNECT becomes a tunnel.
class HttpConversation : public Connection {
 public:
  // The only host and port allowed in requests: the connection was made to them, and decided.
  struct Fixed {
    HostName host;
    std::uint16_t port = 0;
    ConnectionVia via = ConnectionVia::kTransparent;
    std::string rule;
  };

  // Without `fixed` this is a proxy connection, and each request names its host. `client` is open.
  HttpConversation(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
                   SocketStream client, std::optional<Fixed> fixed);
  ~HttpConversation() override;

  void Start() override;
  void TimedOut() override;
  void CatchUp() override;
  void Drain() override;

 private:
  enum class Phase { kHead, kWaiting, kExchange, kOver };

  // Reading and starting the request.
  void ExpectHead();
  void ReadNextHead();
  void ReadHeadNextTurn();
  void ReadHead();
  void Begin();
  void BeginFixed();
  void BeginProxied();
  void Decide();
  void Admitted(std::string rule);
  void DialEnded(Dialled dialled);
  void IdleHostSpoke();

  // Answering the request.
  void BeginExchange();
  void Exchange();
  bool SendBody();
  bool TakeAnswer();
  bool HasEnded();
  void AnswerEnded();
  void AnswerBroke();
  void Upgrade();
  void WantForExchange();

  // Ending the request.
  ConnectionRecord RecordOf(bool allowed, std::string reason) const;
  void Refuse(unsigned status, bool allowed, const std::string& reason);
  void RefuseMalformed(unsigned status, const std::string& reason);
  void LingerAndClose();
  void Abort(const std::string& reason);
  void CloseHost();

  std::uint16_t AskedPort() const;
  ConnectionVia via() const { return fixed_ ? fixed_->via : ConnectionVia::kHttp; }

  SocketStream client_;
  std::optional<Fixed> fixed_;
  Phase phase_ = Phase::kHead;
  HeadReader head_;
  bool has_begun_head_ = false;
  Timer turn_;
  HttpRequest request_;
  std::uint64_t question_ = 0;
  std::uint64_t request_started_ns_ = 0;
  std::string rule_;
  bool is_admitted_ = false;
  Dialer dialer_;

  SocketStream host_;
  std::optional<HostName> host_name_;  // the host that host_ is connected to
  std::uint16_t host_port_ = 0;
  std::optional<IpAddress> address_;
  bool is_reused_ = false;
  bool is_host_over_ = false;  // the host sends no more
  bool is_host_deaf_ = false;  // the host accepts no more
  std::unique_ptr<OpenRecord> record_;
  std::optional<BodyReader> body_;
  std::optional<ResponseReader> response_;
  std::uint64_t answered_ = 0;  // bytes of this answer so far
};

}  // namespace native_runner

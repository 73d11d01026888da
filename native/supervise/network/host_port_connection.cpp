#include "supervise/network/host_port_connection.h"

#include <utility>

#include "supervise/network/tunnel.h"

namespace native_runner {
namespace {

// True if the socket is connected to itself, which the kernel does where nothing listens at a port
// that it has just given the socket as its own.
bool IsConnectedToItself(int socket, const HostPort& target) {
  const auto local = LocalEndpoint(socket);
  return local && local->address == target.address && local->port == target.port;
}

}  // namespace

void HostPortConnection::Start() {
  client_.set_callback([this] { Looked(); });
  client_.Want(UV_DISCONNECT);
  dialer_.DialAddress(entry_->address, entry_->port,
                      [this](Dialled dialled) { DialEnded(std::move(dialled)); });
}

// A client that sends no more may still read: only one that is gone ends the attempt.
void HostPortConnection::Looked() {
  if (client_.IsGone()) return Fail("the client went before it was connected");
  client_.Want(0);
}

void HostPortConnection::DialEnded(Dialled dialled) {
  if (dialled.state != DialState::kConnected) return Fail(dialled.fault);
  if (IsConnectedToItself(dialled.socket.get(), *entry_)) {
    return Fail("it can't be connected to: nothing listens there");
  }
  SocketStream host(std::move(dialled.socket));
  if (!host.Open(parts().loop)) return Fail("the host can't watch its socket");
  is_over_ = true;
  auto record = parts().recorder->Opened(RecordOf(""), started_ns());
  Become(std::make_unique<Relayed>(&parts(), connections(), started_ns(), std::move(client_),
                                   std::move(host), std::move(record)));
}

ConnectionRecord HostPortConnection::RecordOf(std::string reason) const {
  ConnectionRecord record;
  record.host = IpText(entry_->address);
  record.port = entry_->port;
  record.address = record.host;
  record.allowed = true;
  record.rule = entry_->text();
  record.reason = std::move(reason);
  record.via = ConnectionVia::kHostPort;
  return record;
}

void HostPortConnection::Fail(const std::string& reason) {
  if (is_over_) return;
  is_over_ = true;
  parts().recorder->Refused(RecordOf(reason));
  dialer_.Stop();
  client_.Reset();
  End();
}

void HostPortConnection::Drain() {
  if (is_over_) return;
  is_over_ = true;
  parts().recorder->Refused(RecordOf("the command ended before it was connected"));
  client_.Reset();
}

}  // namespace native_runner

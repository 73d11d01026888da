#include "supervise/network/connection/relayed.h"

#include <utility>

namespace native_runner {

Relayed::Relayed(const NetworkParts* parts, Connections* connections, std::uint64_t started_ns,
                 SocketStream client, SocketStream host, std::unique_ptr<OpenRecord> record)
    : Connection(parts, connections, started_ns),
      record_(std::move(record)),
      before_out_(record_->record.bytes_out),
      before_in_(record_->record.bytes_in),
      relay_(parts->pipes, std::move(client), std::move(host)) {}

void Relayed::Start() {
  relay_.Start([this] { Changed(); });
}

void Relayed::TimedOut() {
  record_->record.reason = "nothing came for too long";
  relay_.Drain();
  Changed();
}

void Relayed::Drain() {
  relay_.Drain();
  Count();
  record_->End();
}

void Relayed::Changed() {
  Count();
  TimeOutIn(parts().options->idle_ms);
  if (!relay_.has_ended()) return;
  record_->End();
  End();
}

void Relayed::Count() {
  record_->record.bytes_out = before_out_ + relay_.bytes_out();
  record_->record.bytes_in = before_in_ + relay_.bytes_in();
}

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <functional>

#include "supervise/network/io/socket_stream.h"
#include "supervise/network/relay/one_way.h"

namespace native_runner {

// Relays between a client and a host until both directions have ended. An end is passed on as an
// end, so that the other direction goes on, a reset as a reset. What stands in the streams' `input`
// is handed on first; their `output` has been sent. Supervisor thread only.
class Relay {
 public:
  using OnChange = std::function<void()>;

  Relay(PipePool* pipes, SocketStream client, SocketStream host)
      : client_(std::move(client)),
        host_(std::move(host)),
        out_(pipes, client_.get(), host_.get(), std::move(client_.input)),
        in_(pipes, host_.get(), client_.get(), std::move(host_.input)) {}

  // `on_change` is called when bytes have moved or it has ended; it may destroy this.
  void Start(OnChange on_change);

  std::uint64_t bytes_out() const { return out_.moved(); }
  std::uint64_t bytes_in() const { return in_.moved(); }
  bool has_ended() const { return has_ended_; }

  // Hands on what the client has sent as far as that goes without waiting, and closes.
  void Drain();

 private:
  void Pump();

  SocketStream client_;
  SocketStream host_;
  OneWay out_;
  OneWay in_;
  OnChange on_change_;
  bool has_ended_ = false;
};

}  // namespace native_runner

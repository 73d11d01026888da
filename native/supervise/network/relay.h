#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervise/network/sockets.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// Pipes for splice(2), made when they are needed and kept for the next that needs one: a connection
// has one only while bytes are on their way, so that idle ones cost no descriptors.
class PipePool {
 public:
  static constexpr std::size_t kMostKept = 8;
  static constexpr int kPipeBytes = 1 << 20;

  // nullopt: the host has no descriptors left.
  std::optional<PipeEnds> Take();
  // `pipe` is empty.
  void Give(PipeEnds pipe);

 private:
  std::vector<PipeEnds> kept_;
};

// One direction of a relay: what comes from one socket goes to the other, by splice(2) through a
// pipe, which it has only while bytes are in it, or through memory where there is none. Nothing is
// read before what was read is gone, so a slow reader slows the writer down.
class Pump {
 public:
  // What it waits for.
  enum class Needs {
    kMore,    // the source to have something
    kRoom,    // the target to take something
    kTurn,    // nothing: its turn is over, so that others get theirs
    kNothing  // it has ended
  };

  // `pipes` outlives it; `first` was read from `from` before.
  Pump(PipePool* pipes, int from, int to, std::string first)
      : pipes_(pipes), from_(from), to_(to), kept_(std::move(first)) {}

  // Moves what goes without waiting, at most kTurnBytes.
  Needs Move();

  // Bytes that the target took.
  std::uint64_t moved() const { return moved_; }
  bool has_ended() const { return has_ended_; }
  // It did not end by the source's end, but because a socket is broken, or the source is.
  bool is_broken() const { return is_broken_; }
  bool is_source_broken() const { return is_source_broken_; }

  static constexpr std::uint64_t kTurnBytes = std::uint64_t{1} << 20U;

 private:
  enum class Step { kDone, kWait, kOver };

  Step Fill();
  Step FillKept();
  Step Empty();
  Step SendKept();
  Step Broken();
  Step SourceBroken();
  void LeavePipe();

  PipePool* pipes_;
  int from_;
  int to_;
  std::optional<PipeEnds> pipe_;
  std::size_t in_pipe_ = 0;
  std::string kept_;
  std::size_t kept_sent_ = 0;
  std::uint64_t moved_ = 0;
  bool is_spliced_ = true;
  bool has_ended_ = false;
  bool is_broken_ = false;
  bool is_source_broken_ = false;
};

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
  void MoveBoth();

  SocketStream client_;
  SocketStream host_;
  Pump out_;
  Pump in_;
  OnChange on_change_;
  bool has_ended_ = false;
};

}  // namespace native_runner

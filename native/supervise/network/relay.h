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

// A pool of pipes for splice(2), made on demand. A connection holds one only while bytes are in
// transit, so idle connections cost no descriptors.
class PipePool {
 public:
  static constexpr std::size_t kMostKept = 8;
  static constexpr int kPipeBytes = 1 << 20;

  // Returns nullopt if the host has no descriptors left.
  std::optional<PipeEnds> Take();
  // `pipe` must be empty.
  void Give(PipeEnds pipe);

 private:
  std::vector<PipeEnds> kept_;
};

// One direction of a relay: moves bytes from one socket to the other, by splice(2) through a pipe
// that it holds only while bytes are in it, or through memory without a pipe. Reads nothing before
// the previous bytes are written, so a slow reader slows the writer down.
class Pump {
 public:
  // The condition that a pump waits for.
  enum class Needs {
    kMore,    // the source has data
    kRoom,    // the target has room
    kTurn,    // none: its turn is over, and others get theirs
    kNothing  // none: it has ended
  };

  // `pipes` outlives this; `first` was already read from `from`.
  Pump(PipePool* pipes, int from, int to, std::string first)
      : pipes_(pipes), from_(from), to_(to), kept_(std::move(first)) {}

  // Moves bytes without waiting, at most kTurnBytes.
  Needs Move();

  // Adds bytes that were read from the source elsewhere; only if Flush() returns kMore.
  void Give(std::string read) {
    kept_ = std::move(read);
    kept_sent_ = 0;
  }
  // Passes on only what was already read. Returns kMore when all of it is.
  Needs Flush();

  // Returns the number of bytes that the target took.
  std::uint64_t moved() const { return moved_; }
  bool has_ended() const { return has_ended_; }
  // True if it ended because a socket is broken, or the source is, and not by the source's end of
  // file.
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

// Relays between a client and a host until both directions have ended. An end of file is passed on
// as one, so that the other direction continues, and a reset as a reset. Bytes in the streams'
// `input` are passed on first; their `output` must have been sent. Supervisor thread only.
class Relay {
 public:
  using OnChange = std::function<void()>;

  Relay(PipePool* pipes, SocketStream client, SocketStream host)
      : client_(std::move(client)),
        host_(std::move(host)),
        out_(pipes, client_.get(), host_.get(), std::move(client_.input)),
        in_(pipes, host_.get(), client_.get(), std::move(host_.input)) {}

  // What a gate lets pass of what it has read into the stream's `input`.
  enum class Passes {
    kNothing,  // it is to be called again when the host has sent more
    kInput,    // the input; it is to be called again for what follows
    kAll,      // the input and all that follows
  };
  using Gate = std::function<Passes(SocketStream* host)>;
  // Passes on what the host sends as `gate` lets it; before Start(). `read`: the host's input so
  // far, which nothing was passed on of.
  void Hold(std::string read, Gate gate) {
    host_.input = std::move(read);
    gate_ = std::move(gate);
  }
  // Ends the relay, but for the host's stream.
  SocketStream TakeHost();

  // Calls `on_change` when bytes have moved or the relay has ended; it may destroy this.
  void Start(OnChange on_change);

  std::uint64_t bytes_out() const { return out_.moved(); }
  std::uint64_t bytes_in() const { return in_.moved(); }
  bool has_ended() const { return has_ended_; }

  // Passes on the client's data as far as possible without waiting, and closes.
  void Drain();

 private:
  void MoveBoth();
  Pump::Needs MoveIn();

  SocketStream client_;
  SocketStream host_;
  Gate gate_;
  Pump out_;
  Pump in_;
  OnChange on_change_;
  bool has_ended_ = false;
};

}  // namespace native_runner

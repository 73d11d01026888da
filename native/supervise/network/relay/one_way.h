#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "supervise/network/io/pipe_pool.h"

namespace native_runner {

// One direction of a relay: what comes from one socket goes to the other, by splice(2) through a
// pipe, which it has only while bytes are in it, or through memory where there is none. Nothing is
// read before what was read is gone, so a slow reader slows the writer down.
class OneWay {
 public:
  // What it waits for.
  enum class Needs {
    kMore,    // the source to have something
    kRoom,    // the target to take something
    kTurn,    // nothing: its turn is over, so that others get theirs
    kNothing  // it has ended
  };

  // `pipes` outlives it; `first` was read from `from` before.
  OneWay(PipePool* pipes, int from, int to, std::string first)
      : pipes_(pipes), from_(from), to_(to), kept_(std::move(first)) {}

  // Moves what goes without waiting, at most kTurnBytes.
  Needs Pump();

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

}  // namespace native_runner

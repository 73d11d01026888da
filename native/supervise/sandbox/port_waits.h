#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "supervise/os/handle.h"

namespace native_runner {

// How a wait for a port ended; kSilent: it continues.
enum class PortState {
  kSilent,      // nothing listens yet
  kListening,   // a socket listens
  kTimedOut,    // nothing listened in time
  kStopped,     // the caller stopped the wait
  kGone,        // the run or session has ended
  kNoSockets,   // its policy forbids every socket
  kUnreadable,  // the kernel's table can't be read
};

// Waits until a process in a run's or session's sandbox listens on a TCP port.
struct PortWait {
  std::uint64_t id = 0;       // unique
  std::uint64_t run = 0;      // 0: the session's
  std::uint64_t session = 0;  // 0: the run's
  std::uint16_t port = 0;
  std::uint64_t interval_ms = 50;                    // minimum time between two looks
  std::optional<std::uint64_t> timeout_ms = 30'000;  // nullopt: unlimited
};

// The waits of one supervisor. Looks at once and then at intervals, since the kernel has no event
// for it. It spends at most a fifth of its time on this: with the host's network one look takes
// milliseconds. Supervisor thread only.
class PortWaits {
 public:
  using Look = std::function<PortState(const PortWait&)>;
  using OnEnd = std::function<void(std::uint64_t id, PortState)>;

  // `on_end`: called once for each wait, never with kSilent.
  PortWaits(Look look, OnEnd on_end) : look_(std::move(look)), on_end_(std::move(on_end)) {}

  void Add(uv_loop_t* loop, const PortWait& wait);
  void Stop(std::uint64_t id) { End(id, PortState::kStopped); }
  // Ends the waits of a run or a session that has ended.
  void RunEnds(std::uint64_t run);
  void SessionEnds(std::uint64_t session);
  void EndAll();

 private:
  struct Waiting {
    PortWait wait;
    std::uint64_t due_ns = 0;
    Timer deadline;
  };

  void Schedule();
  void LookForNext();
  void LookFor(std::uint64_t id);
  std::uint64_t NextId() const;
  void End(std::uint64_t id, PortState state);
  void EndThose(const std::function<bool(const PortWait&)>& are);

  Look look_;
  OnEnd on_end_;
  uv_loop_t* loop_ = nullptr;  // set by the first wait
  std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;
  Timer next_;
  std::uint64_t quiet_until_ns_ = 0;
};

}  // namespace native_runner

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "supervise/os/handle.h"

namespace native_runner {

// How a wait for a port ended; or, of one look, that it goes on.
enum class PortState {
  kSilent,      // nothing listens yet
  kListening,   // something does
  kTimedOut,    // nothing did in time
  kStopped,     // the one who waited asked for it
  kGone,        // the run or session that was to listen has ended
  kNoSockets,   // its policy forbids every socket
  kUnreadable,  // the kernel's table can't be read
};

// A wait until something listens on a TCP port, in the sandbox of a run or of a session.
struct PortWait {
  std::uint64_t id = 0;       // unique
  std::uint64_t run = 0;      // 0: the session's
  std::uint64_t session = 0;  // 0: the run's
  std::uint16_t port = 0;
  std::uint64_t interval_ms = 50;                    // between two looks, at least
  std::optional<std::uint64_t> timeout_ms = 30'000;  // none: as long as it takes
};

// The waits of one supervisor. It looks at once and then at intervals, since the kernel has no
// event for it, but never spends more than a fifth of its time on that: with the host's network a
// look takes milliseconds. Supervisor thread only.
class PortWaits {
 public:
  using Look = std::function<PortState(const PortWait&)>;
  using OnEnd = std::function<void(std::uint64_t id, PortState)>;

  // `on_end`: once for each wait, never with kSilent.
  PortWaits(Look look, OnEnd on_end) : look_(std::move(look)), on_end_(std::move(on_end)) {}

  void Add(uv_loop_t* loop, const PortWait& wait);
  void Stop(std::uint64_t id) { End(id, PortState::kStopped); }
  // A run or a session has ended; 0: it was the other one.
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
  uv_loop_t* loop_ = nullptr;  // once there was a wait
  std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;
  Timer next_;
  std::uint64_t quiet_until_ns_ = 0;
};

}  // namespace native_runner

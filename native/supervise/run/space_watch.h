#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/backend.h"
#include "supervise/sandbox/sandbox.h"

namespace native_runner {

class WrittenSpace;

// Keeps the limits `writeBytes` and `reserveBytes` of one run: looks every kEveryMs at what it has
// added and what is free, on a thread that may be left behind where a file system does not answer.
// Supervisor thread only; owned by its run. Callbacks may come after its end: they own what they
// use.
class SpaceWatch {
 public:
  static constexpr std::uint64_t kEveryMs = 40;

  // True if a request has one of these limits.
  static bool IsWanted(const Limits& limits) { return limits.write_bytes || limits.reserve_bytes; }

  SpaceWatch(SupervisorContext& shared, WrittenPlaces places, const Limits& limits);
  ~SpaceWatch();

  // Measures what is there before the run; `done` may be called before this returns. An error ends
  // the run.
  void Begin(std::function<void(const std::optional<Error>&)> done);

  // Call before the command starts if the sandbox was there before its run, and when it is ready.
  // The first call that finds its mounts counts. kSetup if they can't be looked at.
  std::optional<Error> Enter(const Sandbox& sandbox, bool is_ready);

  // From now on calls `over` with the name of a limit that the run has exceeded, once.
  void Start(std::function<void(const char*)> over);
  void Stop() { timer_.Stop(); }

  // Looks once more when all processes are gone, and then calls `done` with the name of the limit
  // that the run has exceeded, or nullptr.
  void Finish(std::function<void(const char*)> done);

 private:
  void Do(std::function<void()> look, std::function<void(const std::optional<Error>&)> done);
  void LookNow();

  SupervisorContext& shared_;
  std::shared_ptr<WrittenSpace> space_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::function<void(const char*)> over_;
  bool is_looking_ = false;
  bool has_entered_ = false;
  Timer timer_;
};

}  // namespace native_runner

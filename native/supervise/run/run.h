#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "policy/options/request.h"
#include "supervise/os/cgroup.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/run_result.h"
#include "supervise/preparation/runtime.h"
#include "supervise/run/live_process.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/capture.h"
#include "supervise/streams/feeder.h"
#include "supervise/streams/stream.h"

namespace native_runner {

// One call of exec or spawn from its start to its proved end: a command in a sandbox of its own,
// made for it or taken from those that stand. Supervisor thread only; owned by the Supervisor and,
// while a runtime prepares, by the preparation's callback.
//
// The first cause of the end is the outcome: an exit that was reported, a deadline, an abort. A run
// is over when its sandbox is gone.
class Run : public std::enable_shared_from_this<Run>, private Sandbox::User {
 public:
  struct Listener {
    std::function<void(Stream, const std::uint8_t*, std::size_t)> on_chunk;
    std::function<void(LiveEvent)> on_event;  // of spawn
    std::function<void(RunResult)> on_end;    // once, last
    // A sandbox that stands and is as the fingerprint says, or none. For requests that may have
    // one.
    std::function<std::unique_ptr<Sandbox>(const Fingerprint&)> take;
  };

  Run(Shared& shared, std::shared_ptr<const Runtime> runtime, ExecRequest request,
      Listener listener);

  // The deadline counts from here.
  void Start();

  // Ends the run early; it reports its outcome once its end is proved.
  void Abort() { End(Aborted()); }

  // For a run of spawn; what comes too late is dropped.
  void Apply(LiveAction action);

 private:
  enum class Phase { kNew, kPreparing, kRunning, kDone };

  void Prepare();
  void Launch(Preparation preparation);
  void LaunchNew(Preparation preparation, std::span<const std::byte> order);
  void LaunchIn(std::unique_ptr<Sandbox> standing, std::span<const std::byte> order);
  void Enter(Session& session, const ShellPart& shell, std::span<const std::byte> order);
  std::unique_ptr<Output> MakeOutput(Stream stream);
  bool AddInput();
  bool SendInput();
  bool StartPipes();
  void OnReport(const Report& report) override;
  void OnGone() override;
  void RecordEnforced(std::uint32_t enforced);
  void End(Outcome cause);
  void Finish();
  void MergeOutputs();
  void FinishWithout(const Error& error);
  Outcome FinalOutcome();
  Usage FinalUsage() const;
  Kill FinalKill() const;

  Shared& shared_;
  std::shared_ptr<const Runtime> runtime_;
  ExecRequest request_;
  Listener listener_;
  Phase phase_ = Phase::kNew;
  RunTimestamps timestamps_;

  RunRecord record_;
  std::unique_ptr<Cgroup> cgroup_;
  std::shared_ptr<const void> holds_;  // the runtime's
  std::unique_ptr<Output> out_;
  std::unique_ptr<Output> err_;
  std::unique_ptr<LiveProcess> live_;  // of spawn; below its outputs
  Feeder feeder_;
  PipeEnds input_;  // until the feeder and the sandbox have its ends
  std::unique_ptr<Sandbox> sandbox_;
  Timer deadline_;

  std::optional<Outcome> cause_;
  std::optional<Report> last_report_;
  bool is_taken_ = false;  // the sandbox was made before
  bool waits_for_set_up_ = false;
  bool ready_ = false;
};

}  // namespace native_runner

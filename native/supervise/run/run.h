#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policy/denials/denials.h"
#include "policy/denials/observation.h"
#include "policy/options/request.h"
#include "policy/run/outcome.h"
#include "protocol/report.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/os/file_threads.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/backend.h"
#include "supervise/preparation/run_result.h"
#include "supervise/run/run_streams.h"
#include "supervise/run/written_space.h"
#include "supervise/sandbox/sandbox.h"

namespace native_runner {

// The refusals observed by the launcher of one run, in order; bounded, regardless of how many the
// launcher sends.
class CollectedObservations {
 public:
  // Adds the records of a kObserved report. `omitted`: total number of further ones so far.
  void Take(std::span<const std::byte> records, std::uint64_t omitted);

  std::vector<Observation> TakeAll() { return std::move(all_); }
  std::uint64_t omitted() const { return omitted_ + dropped_; }

 private:
  std::vector<Observation> all_;
  std::size_t bytes_ = 0;
  std::uint64_t omitted_ = 0;
  std::uint64_t dropped_ = 0;
};

// ReportDenials, which examines the host's files on a thread that can be left behind. `done` is
// called once, on the loop's thread: after two seconds without an answer, with what is known
// without the files. `threads`: nullptr: this thread looks.
void ReportDenialsLater(FileThreads* threads, DeniedRun run, std::function<void(DenialLog)> done);

// Collects how a run ends, and derives its result. The first cause of the end is the outcome: a
// reported exit, a deadline, an abort.
class RunConclusion {
 public:
  bool has_cause() const { return cause_.has_value(); }
  const Outcome& cause() const { return *cause_; }
  // Keeps the first cause.
  void SetCause(Outcome cause);
  // Replaces the command's own end: it had exceeded a limit before.
  void SetOverLimit(const char* limit);

  // Records that the launcher reported success of its checks: from now on the command may run.
  void NoteReady() { ready_ = true; }
  bool ready() const { return ready_; }

  // Records the launcher's last report. `memory_killed`: see Sandbox.
  void NoteEnd(const Report& report, const Limits& limits, bool memory_killed);
  bool has_ended() const { return last_report_.has_value(); }

  // Call once the sandbox is gone, if there was one. `opening`: the first bytes of stderr.
  Outcome FinalOutcome(const RunRecord& record, const Sandbox* sandbox,
                       std::string_view opening) const;
  Usage FinalUsage(const Sandbox* sandbox) const;
  // `is_asked`: we have requested the end.
  Kill FinalKill(const Sandbox* sandbox, bool is_asked) const;

 private:
  std::optional<Outcome> cause_;
  std::optional<Report> last_report_;
  bool ready_ = false;
};

// One call of exec or spawn from its start to its proved end: a command in a sandbox from any
// source. Supervisor thread only; owned by the Supervisor and, while a backend prepares, by the
// preparation's callback. A run is over when its sandbox is gone.
class Run : public std::enable_shared_from_this<Run>,
            private Sandbox::User,
            private Leases::Holder {
 public:
  struct Listener {
    std::function<void(Stream, const std::uint8_t*, std::size_t)> on_chunk;
    std::function<void(LiveEvent)> on_event;  // only for spawn
    OnRecord on_connection;                   // or empty
    std::function<void(RunResult)> on_end;    // once, last
    // Returns a prewarmed sandbox that matches the fingerprint, or nullptr. Only for requests that
    // allow one.
    std::function<std::unique_ptr<SandboxSource>(const Fingerprint&)> take;
    // Both or neither: the run waits for files of the host that have not answered for kHeldUpMs;
    // they have, and it goes on when `go_on` is called, which returns false if it has ended.
    std::function<void()> on_held_up;
    std::function<void(std::function<bool()> go_on)> on_answer;
  };

  static constexpr std::uint64_t kHeldUpMs = 200;

  Run(SupervisorContext& shared, std::shared_ptr<const Backend> runtime, ExecRequest request,
      Listener listener);

  // Starts the run and its deadline.
  void Start();

  // Ends the run early; the outcome is reported once its end is proved. The outcome is LeaseExpired
  // if the lease has ended, even unnoticed.
  void Abort();

  // Returns kListening if a process in its sandbox listens on a TCP port.
  PortState LookForPort(std::uint16_t port) const;

  // Makes a port of the host lead to one of its sandbox's, until the run ends.
  ForwardAnswer Forward(const ForwardRequest& request);
  // Does nothing if there is no such forward.
  void CloseForward(std::uint64_t number);

  // For a run of spawn; late actions are dropped.
  void Apply(LiveAction action);

 private:
  enum class Phase { kNew, kPreparing, kRunning, kConcluding, kDone };

  void Prepare();
  void OnPrepared(Result<Preparation>&& prepared);
  void Measure(Preparation preparation);
  void Launch(Preparation preparation);
  std::unique_ptr<SandboxSource> SourceOf(Preparation* preparation);
  bool Begin(std::span<const std::byte> order);
  bool HandOver(std::span<const std::byte> order);
  void LeaveNetwork();
  void LeaveForwards();
  bool Watch();
  bool StartStreams();
  void OnReport(const Report& report) override;
  void OnObserved(std::span<const std::byte> records, std::uint64_t omitted) override;
  void OnReady(const Report& report);
  void OnLeaseRenewed(std::uint64_t until_ns) override;
  void OnLeaseEnded() override { End(LeaseExpired()); }
  bool HoldLease();
  void LeaveLease();
  bool HasMetChance() const;
  bool MayTryAgain() const;
  void OnGone() override;
  void RecordEnforced(LayerSet enforced);
  void End(Outcome cause);
  Outcome Overdue() const;
  bool WatchSpace();
  void Conclude();
  void Finish();
  void Settle(RunResult result);
  void FinishWithout(const Error& error);
  Outcome FinalOutcome();

  SupervisorContext& shared_;
  std::shared_ptr<const Backend> runtime_;
  ExecRequest request_;
  Listener listener_;
  Phase phase_ = Phase::kNew;
  RunTimestamps timestamps_;

  RunRecord record_;
  std::shared_ptr<const DenialScene> scene_;
  RunStreams streams_;
  std::shared_ptr<const ShellReport> shell_;  // in a shell session
  std::string lost_directory_;                // from its first attempt; see ShellReport
  std::unique_ptr<Sandbox> sandbox_;
  std::optional<std::uint64_t> connecting_;  // its number in the sandbox's network
  ConnectionLog connections_;
  Forwards::Mark forwards_before_;       // those of a session
  std::vector<std::uint64_t> forwards_;  // its own
  std::vector<ForwardRecord> forwarded_;
  CollectedObservations observed_;
  std::unique_ptr<SpaceWatch> space_;  // with a limit of what it writes
  Timer deadline_;
  Timer held_up_;
  bool is_held_up_ = false;

  RunConclusion conclusion_;
  bool is_prewarmed_ = false;  // the sandbox was made before the run
  SandboxStart start_ = SandboxStart::kCold;
  std::string cold_reason_;
  bool has_used_network_ = false;
  bool waits_for_set_up_ = false;
  int tries_ = 1;  // number of attempts, with this one; earlier ones have run nothing
};

}  // namespace native_runner

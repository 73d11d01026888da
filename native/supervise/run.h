#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "policy/request.h"
#include "supervise/capture.h"
#include "supervise/cgroup.h"
#include "supervise/child.h"
#include "supervise/control.h"
#include "supervise/feeder.h"
#include "supervise/handle.h"
#include "supervise/run_result.h"
#include "supervise/runtime.h"

namespace native_runner {

enum class Stream { kStdout, kStderr };

// One call of exec from its start to its proved end. Supervisor thread only; owned by the
// Supervisor and, while a runtime prepares, by the preparation's callback.
//
// The first cause of the end is the outcome: an exit that was reported, a deadline, an abort. A run
// is over when its processes are known to be gone: the child was reaped, the control socket gave
// end of file (no launcher, no bwrap in set-up), and the launcher's pidfd shows it dead, which as
// pid 1 it can only be after the kernel has ended everything else in its pid namespace.
class Run : public std::enable_shared_from_this<Run> {
 public:
  struct Listener {
    std::function<void(Stream, const std::uint8_t*, std::size_t)> on_chunk;
    std::function<void(RunResult)> on_end;  // once, last
  };

  Run(Shared& shared, std::shared_ptr<const Runtime> runtime, ExecRequest request,
      Listener listener);

  // The deadline counts from here.
  void Start();

  // Ends the run early; it reports its outcome once its end is proved.
  void Abort() { End(Aborted()); }

 private:
  enum class Phase { kNew, kPreparing, kRunning, kDone };

  void Launch(Preparation preparation);
  std::optional<Error> Spawn(Preparation& preparation);
  bool WatchControl();
  bool WatchChild();
  void OnControl();
  void OnReport(const Report& report, Descriptor pidfd);
  void RecordEnforced(std::uint32_t enforced);
  void OnChildExit();
  void End(Outcome cause);
  void Insist();
  void FinishIfOver();
  bool LauncherIsGone() const;
  void Finish();
  void FinishWithout(const Error& error);
  Outcome FinalOutcome();
  Usage FinalUsage() const;

  Shared& shared_;
  std::shared_ptr<const Runtime> runtime_;
  ExecRequest request_;
  Listener listener_;
  Phase phase_ = Phase::kNew;
  std::uint64_t started_ns_ = 0;

  RunRecord record_;
  bool own_pid_namespace_ = false;
  std::unique_ptr<Cgroup> cgroup_;
  std::shared_ptr<const void> holds_;  // the runtime's
  Capture out_;
  Capture err_;
  Feeder feeder_;
  std::optional<Child> child_;
  std::optional<Control> control_;
  Descriptor launcher_;  // pidfd, once it has reported
  Poll control_poll_;
  Poll child_poll_;
  Poll launcher_poll_;
  Timer deadline_;
  Timer insist_;
  int insisted_ = 0;

  std::optional<Outcome> cause_;
  std::optional<Report> last_report_;
  std::optional<ExitStatus> child_status_;
  bool ready_ = false;
  bool control_closed_ = false;
  bool ending_ = false;
};

}  // namespace native_runner

#pragma once

#include <optional>
#include <string_view>

#include "policy/options/limits.h"
#include "policy/outcome/outcome.h"
#include "protocol/report.h"
#include "supervise/preparation/run_result.h"
#include "supervise/sandbox/sandbox.h"

namespace native_runner {

// What is known of how a run ends, and the result that it comes to. The first cause of the end is
// the outcome: an exit that was reported, a deadline, an abort.
class RunConclusion {
 public:
  bool has_cause() const { return cause_.has_value(); }
  const Outcome& cause() const { return *cause_; }
  // Unless there is one.
  void SetCause(Outcome cause);

  // The launcher says that its checks have passed: from now on the command may run.
  void NoteReady() { ready_ = true; }
  bool ready() const { return ready_; }

  // The launcher's last word. `memory_killed`: see Sandbox.
  void NoteEnd(const Report& report, const Limits& limits, bool memory_killed);
  bool has_ended() const { return last_report_.has_value(); }

  // Once the sandbox is gone, if there was one. `opening`: what was said on stderr first.
  Outcome FinalOutcome(const RunRecord& record, const Sandbox* sandbox,
                       std::string_view opening) const;
  Usage FinalUsage(const Sandbox* sandbox) const;
  // `is_asked`: we have asked for the end.
  Kill FinalKill(const Sandbox* sandbox, bool is_asked) const;

 private:
  std::optional<Outcome> cause_;
  std::optional<Report> last_report_;
  bool ready_ = false;
};

}  // namespace native_runner

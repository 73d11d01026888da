#include "supervise/run/run_conclusion.h"

#include <csignal>
#include <string>
#include <utility>

namespace native_runner {
namespace {

std::string SetupErrorText(const RunRecord& record, const ExitStatus& status,
                           std::string_view opening) {
  while (!opening.empty() && (opening.back() == '\n' || opening.back() == ' ')) {
    opening.remove_suffix(1);
  }
  if (!opening.empty()) return std::string(opening);
  return record.runtime + " ended during set-up with " +
         (status.signaled ? SignalName(status.value) : "status " + std::to_string(status.value)) +
         " and without a word";
}

}  // namespace

void RunConclusion::SetCause(Outcome cause) {
  if (!cause_) cause_ = std::move(cause);
}

void RunConclusion::NoteEnd(const Report& report, const Limits& limits, bool memory_killed) {
  last_report_ = report;
  if (cause_) return;
  if (report.kind == ReportKind::kExited) {
    cause_ = OutcomeOfExit(report, limits, memory_killed);
  } else {
    cause_ = OutcomeOfFailedStart(report);
  }
}

Outcome RunConclusion::FinalOutcome(const RunRecord& record, const Sandbox* sandbox,
                                    std::string_view opening) const {
  if (cause_) return *cause_;
  if (ready_) return Signaled(SIGKILL);  // somebody on the host ended the sandbox
  if (const auto status = sandbox->child_status()) {
    return SetupFailed(SetupErrorText(record, *status, opening));
  }
  return SetupFailed("the session ended before the command was started");
}

Usage RunConclusion::FinalUsage(const Sandbox* sandbox) const {
  if (last_report_) {
    return {last_report_->user_cpu_us, last_report_->system_cpu_us,
            last_report_->peak_memory_bytes};
  }
  // Killed before it could report: the child's own account has its descendants' time, and that of
  // its set-up. Its peak memory is no use: it starts with this process's (posix_spawn shares it).
  if (sandbox == nullptr || !sandbox->child_status() || !ready_) return {};
  return {sandbox->child_status()->user_cpu_us, sandbox->child_status()->system_cpu_us, 0};
}

// The sandbox is gone. Without a pid namespace, only the launcher can tell that of what the command
// left behind.
Kill RunConclusion::FinalKill(const Sandbox* sandbox, bool is_asked) const {
  if (sandbox == nullptr) return Kill::kNone;
  if (!is_asked && !(last_report_ && last_report_->killed != 0)) return Kill::kNone;
  const bool is_told =
      last_report_ && (last_report_->kind != ReportKind::kExited || last_report_->error == 0);
  return is_told || !ready_ || sandbox->end_is_proof() ? Kill::kProved : Kill::kUnproved;
}

}  // namespace native_runner

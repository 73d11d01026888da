#include "addon/result.h"

#include <cmath>
#include <utility>

namespace native_runner {
namespace {

double Milliseconds(std::uint64_t microseconds) {
  return static_cast<double>(microseconds) / 1000.0;
}

napi_value MakeUsage(ValueBuilder& builder, const Usage& usage) {
  napi_value made = builder.Object();
  builder.Set(made, "userCpuMs", builder.Number(Milliseconds(usage.user_cpu_us)));
  builder.Set(made, "systemCpuMs", builder.Number(Milliseconds(usage.system_cpu_us)));
  builder.Set(made, "peakMemoryBytes",
              builder.Number(static_cast<double>(usage.peak_memory_bytes)));
  return made;
}

napi_value MakeOutcome(ValueBuilder& builder, const Outcome& outcome) {
  napi_value made = builder.Object();
  builder.Set(made, "kind", builder.String(OutcomeName(outcome.kind)));
  switch (outcome.kind) {
    case OutcomeKind::kSignaled:
      builder.Set(made, "signal", builder.String(SignalName(outcome.signal)));
      break;
    case OutcomeKind::kSetupFailed:
      builder.Set(made, "reason", builder.String(outcome.reason));
      if (!outcome.fix.empty()) builder.Set(made, "fix", builder.String(outcome.fix));
      break;
    case OutcomeKind::kLimitExceeded:
      builder.Set(made, "limit", builder.String(outcome.limit));
      break;
    default:
      break;
  }
  return made;
}

napi_value MakeAudit(ValueBuilder& builder, const RunResult& result,
                     const std::string& policy_hash) {
  const RunRecord& record = result.record;
  const Outcome& outcome = result.outcome;
  napi_value audit = builder.Object();
  builder.Set(audit, "kind", builder.String("native.exec"));
  builder.Set(audit, "cmd", builder.String(record.cmd));
  builder.Set(audit, "argv", builder.Strings(record.argv));
  if (record.cwd) builder.Set(audit, "cwd", builder.String(*record.cwd));
  builder.Set(audit, "durationMs", builder.Number(std::round(result.duration_ms * 1000) / 1000));
  builder.Set(audit, "timedOut", builder.Boolean(outcome.kind == OutcomeKind::kTimedOut));
  builder.Set(audit, "signal",
              outcome.signal == 0 ? builder.Null() : builder.String(SignalName(outcome.signal)));
  builder.Set(audit, "truncatedStdout", builder.Boolean(result.out.truncated));
  builder.Set(audit, "truncatedStderr", builder.Boolean(result.err.truncated));
  builder.Set(audit, "runtime", builder.String(record.runtime));
  builder.Set(audit, "layers", builder.Strings(record.layers));
  builder.Set(audit, "policyHash", builder.String(policy_hash));
  builder.Set(audit, "outcome", builder.String(OutcomeName(outcome.kind)));
  builder.Set(audit, "usage", MakeUsage(builder, result.usage));
  return audit;
}

}  // namespace

napi_value MakeResult(ValueBuilder& builder, RunResult result, const std::string& policy_hash) {
  napi_value made = builder.Object();
  builder.Set(made, "exitCode", builder.Number(result.outcome.exit_code));
  builder.Set(made, "stdout", builder.TakenBytes(std::move(result.out.bytes)));
  builder.Set(made, "stderr", builder.TakenBytes(std::move(result.err.bytes)));
  builder.Set(made, "truncatedStdout", builder.Boolean(result.out.truncated));
  builder.Set(made, "truncatedStderr", builder.Boolean(result.err.truncated));
  builder.Set(made, "outcome", MakeOutcome(builder, result.outcome));
  builder.Set(made, "stdoutBytes", builder.Number(static_cast<double>(result.out.total)));
  builder.Set(made, "stderrBytes", builder.Number(static_cast<double>(result.err.total)));
  builder.Set(made, "usage", MakeUsage(builder, result.usage));
  builder.Set(made, "audits", builder.Array({MakeAudit(builder, result, policy_hash)}));
  return made;
}

}  // namespace native_runner

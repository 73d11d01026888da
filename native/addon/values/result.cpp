#include "addon/values/result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "policy/denials/denials.h"

namespace native_runner {

napi_value CachedStrings::Get(ValueBuilder& builder, std::span<const std::string> strings) {
  if (!array_.IsEmpty() && std::ranges::equal(strings_, strings)) return array_.Value();
  napi_value array = builder.Strings(strings);
  if (!builder.ok()) return nullptr;
  array_ = Napi::Persistent(Napi::Object(builder.env(), array));
  strings_.assign(strings.begin(), strings.end());
  return array;
}

napi_value MakeConnection(ValueBuilder& builder, const ConnectionRecord& record) {
  napi_value made = builder.Object();
  builder.Set(made, "host", builder.String(record.host));
  builder.Set(made, "port", builder.Number(record.port));
  if (!record.address.empty()) builder.Set(made, "address", builder.String(record.address));
  builder.Set(made, "verdict", builder.String(record.allowed ? "allowed" : "denied"));
  if (!record.rule.empty()) builder.Set(made, "rule", builder.String(record.rule));
  if (!record.reason.empty()) builder.Set(made, "reason", builder.String(record.reason));
  builder.Set(made, "via", builder.String(ConnectionViaName(record.via)));
  builder.Set(made, "bytesOut", builder.Number(static_cast<double>(record.bytes_out)));
  builder.Set(made, "bytesIn", builder.Number(static_cast<double>(record.bytes_in)));
  builder.Set(made, "durationMs", builder.Number(std::round(record.duration_ms * 1000) / 1000));
  builder.Set(made, "count", builder.Number(static_cast<double>(record.count)));
  return made;
}

namespace {

napi_value ValueOf(ValueBuilder& builder, const Grant& grant) {
  switch (grant.kind) {
    case Grant::Kind::kMount: {
      napi_value mount = builder.Object();
      builder.Set(mount, "hostPath", builder.String(grant.host_path));
      builder.Set(mount, "guestPath", builder.String(grant.guest_path));
      builder.Set(mount, "mode", builder.String(grant.writable ? "rw" : "ro"));
      return mount;
    }
    case Grant::Kind::kPath:
      return builder.String(grant.host_path);
    case Grant::Kind::kText:
    case Grant::Kind::kList:
      return builder.String(grant.text);
    case Grant::Kind::kNumber:
      return builder.Number(static_cast<double>(grant.number));
    case Grant::Kind::kBoolean:
      return builder.Boolean(grant.number != 0);
    case Grant::Kind::kNone:
      break;
  }
  return builder.Undefined();
}

void SetText(ValueBuilder& builder, napi_value made, const char* key, const std::string& text) {
  if (!text.empty()) builder.Set(made, key, builder.String(text));
}

napi_value MakeDenial(ValueBuilder& builder, const Denial& denial) {
  napi_value made = builder.Object();
  builder.Set(made, "kind", builder.String(denial.kind));
  builder.Set(made, "operation", builder.String(denial.operation));
  SetText(builder, made, "path", denial.path);
  SetText(builder, made, "hostPath", denial.host_path);
  SetText(builder, made, "host", denial.host);
  if (denial.port != 0) builder.Set(made, "port", builder.Number(denial.port));
  SetText(builder, made, "program", denial.program);
  builder.Set(made, "errno", builder.String(denial.error));
  builder.Set(made, "by", builder.String(DeniedByName(denial.by)));
  builder.Set(made, "count", builder.Number(static_cast<double>(denial.count)));
  if (denial.grant.kind != Grant::Kind::kNone) {
    napi_value grant = builder.Object();
    builder.Set(grant, "option", builder.String(denial.grant.option));
    builder.Set(grant, "value", ValueOf(builder, denial.grant));
    builder.Set(made, "grant", grant);
  }
  SetText(builder, made, "notAdvised", denial.not_advised);
  return made;
}

// Makes the denials of a run, as in types/denials.d.ts without a grant's `cli`, which lib adds.
// Undefined without denials. Complete only if builder.ok() afterwards.
napi_value MakeDenials(ValueBuilder& builder, const std::vector<Denial>& denials) {
  if (denials.empty()) return builder.Undefined();
  std::vector<napi_value> made;
  made.reserve(denials.size());
  for (const Denial& denial : denials)
    made.push_back(MakeDenial(builder, denial));
  return builder.Array(made);
}

double Milliseconds(std::uint64_t microseconds) {
  return static_cast<double>(microseconds) / 1000.0;
}

// Rounds to a thousandth: a microsecond.
double Rounded(double milliseconds) {
  return std::round(milliseconds * 1000) / 1000;
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

napi_value MakeKill(ValueBuilder& builder, Kill kill) {
  if (kill == Kill::kNone) return builder.Null();
  return builder.String(kill == Kill::kProved ? "proved" : "unproved");
}

napi_value MakeShellState(ValueBuilder& builder, const ShellReport& report) {
  napi_value made = builder.Object();
  const bool is_lost = report.state == ShellReport::State::kLost;
  const bool is_kept = report.state == ShellReport::State::kKept;
  builder.Set(made, "status", builder.String(is_lost ? "lost" : is_kept ? "kept" : "unchanged"));
  if (is_lost) builder.Set(made, "reason", builder.String(report.reason));
  if (!report.lost_directory.empty()) {
    builder.Set(made, "lostDirectory", builder.String(report.lost_directory));
  }
  return made;
}

napi_value MakeConnections(ValueBuilder& builder, const ConnectionLog& log) {
  std::vector<napi_value> connections;
  connections.reserve(log.connections.size());
  for (const ConnectionRecord& record : log.connections)
    connections.push_back(MakeConnection(builder, record));
  return builder.Array(connections);
}

const char* NameOf(SandboxStart start) {
  switch (start) {
    case SandboxStart::kCold:
      return "cold";
    case SandboxStart::kCloned:
      return "cloned";
    case SandboxStart::kPrewarmed:
      return "prewarmed";
    case SandboxStart::kSession:
      break;
  }
  return "session";
}

}  // namespace

napi_value ResultMaker::Make(ValueBuilder& builder, RunResult result,
                             const std::string& policy_hash) {
  const RunRecord& record = result.record;
  const Outcome& outcome = result.outcome;
  const Usage& usage = result.usage;
  const Timing& timing = result.timing;
  const std::span<const std::string> argv(record.argv);
  const std::array parts = {
      builder.Number(outcome.exit_code),
      MakeOutcome(builder, outcome),
      builder.TakenBytes(std::move(result.out.bytes)),
      builder.TakenBytes(std::move(result.err.bytes)),
      builder.Boolean(result.out.truncated),
      builder.Boolean(result.err.truncated),
      builder.Number(static_cast<double>(result.out.total)),
      builder.Number(static_cast<double>(result.err.total)),
      builder.Number(Milliseconds(usage.user_cpu_us)),
      builder.Number(Milliseconds(usage.system_cpu_us)),
      builder.Number(static_cast<double>(usage.peak_memory_bytes)),
      builder.String(record.cmd),
      options_.Get(builder, argv.first(record.command_at)),
      builder.Strings(argv.subspan(record.command_at)),
      record.cwd ? builder.String(*record.cwd) : builder.Undefined(),
      builder.Number(Rounded(result.duration_ms)),
      outcome.signal == 0 ? builder.Null() : builder.String(SignalName(outcome.signal)),
      builder.String(record.runtime),
      layers_.Get(builder, record.layers.Names()),
      builder.String(policy_hash),
      builder.Number(Milliseconds(timing.queue_us)),
      builder.Number(Milliseconds(timing.setup_us)),
      builder.Number(Milliseconds(timing.command_us)),
      builder.Number(Milliseconds(timing.teardown_us)),
      builder.String(NameOf(result.start)),
      result.cold_reason.empty() ? builder.Undefined() : builder.String(result.cold_reason),
      MakeKill(builder, result.kill),
      result.shell ? MakeShellState(builder, *result.shell) : builder.Undefined(),
      result.connections ? MakeConnections(builder, *result.connections) : builder.Undefined(),
      builder.Number(result.connections ? static_cast<double>(result.connections->omitted) : 0),
      MakeDenials(builder, result.denials.denials),
      builder.Number(static_cast<double>(result.denials.omitted)),
  };
  return builder.ok() ? builder.Call(make_.Value(), parts) : nullptr;
}

}  // namespace native_runner

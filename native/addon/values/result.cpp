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

napi_value MakeCwd(ValueBuilder& builder, const std::optional<std::string>& cwd) {
  return cwd ? builder.String(*cwd) : builder.Undefined();
}

napi_value MakeSignal(ValueBuilder& builder, int signal) {
  return signal == 0 ? builder.Null() : builder.String(SignalName(signal));
}

napi_value MakeShellState(ValueBuilder& builder, const std::optional<ShellReport>& report) {
  if (!report) return builder.Undefined();
  napi_value made = builder.Object();
  const bool is_lost = report->state == ShellReport::State::kLost;
  const bool is_kept = report->state == ShellReport::State::kKept;
  builder.Set(made, "status", builder.String(is_lost ? "lost" : is_kept ? "kept" : "unchanged"));
  if (is_lost) builder.Set(made, "reason", builder.String(report->reason));
  if (!report->lost_directory.empty()) {
    builder.Set(made, "lostDirectory", builder.String(report->lost_directory));
  }
  return made;
}

std::uint64_t OmittedOf(const std::optional<ConnectionLog>& log) {
  return log ? log->omitted : 0;
}

napi_value MakeConnections(ValueBuilder& builder, const std::optional<ConnectionLog>& log) {
  if (!log) return builder.Undefined();
  std::vector<napi_value> connections;
  connections.reserve(log->connections.size());
  for (const ConnectionRecord& record : log->connections)
    connections.push_back(MakeConnection(builder, record));
  return builder.Array(connections);
}

napi_value MakeForwards(ValueBuilder& builder, const std::vector<ForwardRecord>& forwards) {
  if (forwards.empty()) return builder.Undefined();
  std::vector<napi_value> made;
  made.reserve(forwards.size());
  for (const ForwardRecord& forward : forwards) {
    const auto set = [&builder, each = builder.Object()](const char* key, std::uint64_t number) {
      builder.Set(each, key, builder.Number(static_cast<double>(number)));
      return each;
    };
    set("port", forward.port);
    builder.Set(set("hostPort", forward.host_port), "host", builder.String(forward.host));
    set("connections", forward.connections);
    set("refused", forward.refused);
    set("failed", forward.failed);
    set("bytesOut", forward.bytes_out);
    made.push_back(set("bytesIn", forward.bytes_in));
  }
  return builder.Array(made);
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

// "": it has no network namespace of its own.
std::string NamespacesOf(const RunResult& result) {
  if (!result.record.layers.Has(Layer::kNetworkNamespace)) return "";
  return result.has_used_network ? "reused" : "new";
}

// A run's result on its way to JavaScript, and what makes values of it.
struct ReportSource {
  ValueBuilder& builder;
  RunResult& result;
  const std::string& policy_hash;
  CachedStrings& last_options;
  CachedStrings& last_layers;

  const RunRecord& record() const { return result.record; }
  const Usage& usage() const { return result.usage; }
  const Timing& timing() const { return result.timing; }
  std::span<const std::string> argv() const { return record().argv; }

  napi_value Count(std::uint64_t count) const { return builder.Number(static_cast<double>(count)); }
  napi_value Milliseconds(std::uint64_t microseconds) const {
    return builder.Number(static_cast<double>(microseconds) / 1000.0);
  }
  napi_value TextOrUndefined(const std::string& text) const {
    return text.empty() ? builder.Undefined() : builder.String(text);
  }
};

struct ReportField {
  const char* name;
  napi_value (*value)(const ReportSource& of);
};

using Of = const ReportSource&;

// The fields of NativeReport (types/addon.d.ts). Only this list has an order, which JavaScript
// learns from ReportFieldNames: an object would cost ten times as much as a call with as many
// arguments.
constexpr auto kReportFields = std::to_array<ReportField>({
    {"exitCode", [](Of of) { return of.builder.Number(of.result.outcome.exit_code); }},
    {"outcome", [](Of of) { return MakeOutcome(of.builder, of.result.outcome); }},
    {"stdout", [](Of of) { return of.builder.TakenBytes(std::move(of.result.out.bytes)); }},
    {"stderr", [](Of of) { return of.builder.TakenBytes(std::move(of.result.err.bytes)); }},
    {"truncatedStdout", [](Of of) { return of.builder.Boolean(of.result.out.truncated); }},
    {"truncatedStderr", [](Of of) { return of.builder.Boolean(of.result.err.truncated); }},
    {"stdoutBytes", [](Of of) { return of.Count(of.result.out.total); }},
    {"stderrBytes", [](Of of) { return of.Count(of.result.err.total); }},
    {"userCpuMs", [](Of of) { return of.Milliseconds(of.usage().user_cpu_us); }},
    {"systemCpuMs", [](Of of) { return of.Milliseconds(of.usage().system_cpu_us); }},
    {"peakMemoryBytes", [](Of of) { return of.Count(of.usage().peak_memory_bytes); }},
    {"cmd", [](Of of) { return of.builder.String(of.record().cmd); }},
    {"options",
     [](Of of) {
       return of.last_options.Get(of.builder, of.argv().first(of.record().command_at));
     }},
    {"command",
     [](Of of) { return of.builder.Strings(of.argv().subspan(of.record().command_at)); }},
    {"cwd", [](Of of) { return MakeCwd(of.builder, of.record().cwd); }},
    {"durationMs", [](Of of) { return of.builder.Number(Rounded(of.result.duration_ms)); }},
    {"endedMs", [](Of of) { return of.builder.Number(of.result.ended_ms); }},
    {"signal", [](Of of) { return MakeSignal(of.builder, of.result.outcome.signal); }},
    {"runtime", [](Of of) { return of.builder.String(of.record().runtime); }},
    {"layers", [](Of of) { return of.last_layers.Get(of.builder, of.record().layers.Names()); }},
    {"policyHash", [](Of of) { return of.builder.String(of.policy_hash); }},
    {"queueMs", [](Of of) { return of.Milliseconds(of.timing().queue_us); }},
    {"setupMs", [](Of of) { return of.Milliseconds(of.timing().setup_us); }},
    {"commandMs", [](Of of) { return of.Milliseconds(of.timing().command_us); }},
    {"teardownMs", [](Of of) { return of.Milliseconds(of.timing().teardown_us); }},
    {"start", [](Of of) { return of.builder.String(NameOf(of.result.start)); }},
    {"coldReason", [](Of of) { return of.TextOrUndefined(of.result.cold_reason); }},
    {"namespaces", [](Of of) { return of.TextOrUndefined(NamespacesOf(of.result)); }},
    {"kill", [](Of of) { return MakeKill(of.builder, of.result.kill); }},
    {"shellState", [](Of of) { return MakeShellState(of.builder, of.result.shell); }},
    {"connections", [](Of of) { return MakeConnections(of.builder, of.result.connections); }},
    {"connectionsOmitted", [](Of of) { return of.Count(OmittedOf(of.result.connections)); }},
    {"forwards", [](Of of) { return MakeForwards(of.builder, of.result.forwards); }},
    {"denials", [](Of of) { return MakeDenials(of.builder, of.result.denials.denials); }},
    {"denialsOmitted", [](Of of) { return of.Count(of.result.denials.omitted); }},
});

}  // namespace

napi_value ReportFieldNames(ValueBuilder& builder) {
  std::vector<napi_value> names;
  names.reserve(kReportFields.size());
  for (const ReportField& field : kReportFields)
    names.push_back(builder.String(field.name));
  return builder.Array(names);
}

napi_value ResultMaker::Make(ValueBuilder& builder, RunResult result,
                             const std::string& policy_hash) {
  const ReportSource source{builder, result, policy_hash, options_, layers_};
  std::array<napi_value, kReportFields.size()> values{};
  for (std::size_t at = 0; at < values.size(); ++at)
    values[at] = kReportFields[at].value(source);
  return builder.ok() ? builder.Call(make_.Value(), values) : nullptr;
}

}  // namespace native_runner

/**
 * Records as OpenTelemetry's logs, in the JSON of OTLP: each line is an ExportLogsServiceRequest, as the
 * collector's `otlpjsonfile` receiver reads them, and `/v1/logs` takes them. Pure.
 */

import type { AuditEntry } from "../../../types/audit-log.js";
import { commandOf, endText, entryText } from "./entry-text.js";

type Value = { stringValue: string } | { intValue: string } | { doubleValue: number };
type Attribute = { key: string; value: Value };

const kName = "@openagentic/native-runner";
/** SeverityNumber of the log data model: INFO and WARN. */
const kSeverities = { info: 9, warn: 13 } as const;

const text = (key: string, value: string): Attribute => ({ key, value: { stringValue: value } });
const integer = (key: string, value: number): Attribute => ({
  key,
  value: { intValue: String(Math.trunc(value)) },
});

function* attributesOf(entry: AuditEntry): Generator<Attribute> {
  yield text("event.name", `native_runner.audit.${entry.kind}`);
  yield integer("native_runner.audit.seq", entry.seq);
  yield text("native_runner.audit.hash", entry.hash);
  if (entry.kind === "run") {
    const { runtime, start, outcome, policyHash, exitCode, durationMs } = entry.event;
    yield text("process.executable.name", commandOf(entry.event)[0] ?? "");
    yield integer("process.exit.code", exitCode);
    yield text("runtime", runtime);
    yield text("start", start);
    yield text("outcome", outcome);
    yield text("native_runner.policy_hash", policyHash);
    yield { key: "native_runner.duration_ms", value: { doubleValue: durationMs } };
    yield integer("native_runner.denials", entry.event.denials?.length ?? 0);
  }
  if (entry.kind === "transaction") {
    yield text("native_runner.transaction", entry.event.transaction);
    yield text("native_runner.transaction.action", entry.event.action);
    yield text("outcome", entry.event.outcome);
  }
}

function isWarning(entry: AuditEntry): boolean {
  if (entry.kind === "run") return endText(entry) !== "exited 0";
  if (entry.kind === "transaction") return entry.event.outcome !== "done";
  return entry.kind === "gap" || entry.kind === "recovered";
}

/** Nanoseconds since the epoch, which are more than a double holds. */
const nanoseconds = (at: string) => `${Date.parse(at)}000000`;

/** One line. */
export function otelLine(entry: AuditEntry): string {
  const severity = isWarning(entry) ? "warn" : "info";
  const record = {
    timeUnixNano: nanoseconds(entry.at),
    severityNumber: kSeverities[severity],
    severityText: severity.toUpperCase(),
    body: { stringValue: `${entry.kind}: ${entryText(entry)}` },
    attributes: [...attributesOf(entry)],
  };
  const resource = { attributes: [text("service.name", kName)] };
  const scopeLogs = [{ scope: { name: kName }, logRecords: [record] }];
  return `${JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] })}\n`;
}

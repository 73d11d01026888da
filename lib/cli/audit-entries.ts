/** Formats a record as text on one line. Pure; the text is not yet escaped for a terminal. */

import Table from "cli-table3";
import pc from "picocolors";

import type { AuditEntry, AuditEvents, AuditVerification } from "../../types/audit-log.js";
import { counted } from "../change-text.js";
import { shellQuote, visibleLine, visibleText } from "../text.js";

type Run = AuditEvents["run"];

/** Returns the command itself: in a sandbox's arguments, the words after the sandbox's own. */
function commandOf({ cmd, argv, runtime }: Run): string[] {
  if (runtime !== "bubblewrap" && runtime !== "firejail") return [...argv];
  const end = argv.indexOf("--");
  return end < 0 ? [cmd, ...argv] : argv.slice(end + 1);
}

function runText(run: Run): string {
  const denials = run.denials?.length ?? 0;
  const denied = denials > 0 ? [`(${counted(denials, "denial")})`] : [];
  return [...commandOf(run).map(shellQuote), ...denied].join(" ");
}

function transactionText({ action, transaction, committed, paths }: AuditEvents["transaction"]) {
  const what = committed === undefined ? "" : `: ${counted(committed.length, "path")}`;
  const refused = paths === undefined ? "" : `: ${paths.slice(0, 3).join(", ")}`;
  return `${action} of transaction ${transaction}${what}${refused}`;
}

function grantText({ option, value, approvedBy }: AuditEvents["grant"]): string {
  const who = approvedBy === undefined ? "" : `, by ${approvedBy}`;
  return `${option}: ${JSON.stringify(value)}${who}`;
}

/** Returns the text of a record. */
function entryText({ kind, event }: AuditEntry): string {
  switch (kind) {
    case "run":
      return runText(event);
    case "transaction":
      return transactionText(event);
    case "grant":
      return grantText(event);
    case "open":
      return `by process ${event.pid} on ${event.host}, version ${event.version}`;
    case "close":
      return event.lost === 0 ? "" : `${counted(event.lost, "record")} were lost`;
    case "file":
      return `goes on from ${event.previous}`;
    case "recovered":
      return `a torn line of ${counted(event.bytes, "byte")} was cut off`;
    case "gap":
      return `${counted(event.lost, "record")} could not be written: ${event.reason}`;
    case "policy":
      return `${event.runtime}, ${event.policyHash.slice(0, 12)}`;
    case "session":
      return `policy ${event.policyHash.slice(0, 12)}`;
    case "template":
      return `${event.runtime}, policy ${event.policyHash.slice(0, 12)}`;
  }
}

/** Returns how it ended: "exited 3", "timed-out", "conflict"; "" if the kind has no end. */
function endText({ kind, event }: AuditEntry): string {
  if (kind === "transaction") return event.outcome;
  if (kind !== "run") return "";
  return event.outcome === "exited" ? `exited ${event.exitCode}` : event.outcome;
}

/** Formats records for people. Pure. */

const kNarrowest = 60;
const kWidest = 160;
const kOfOthers = [8, 22, 13, 13] as const; // number, time, kind, end
const kLines = 5; // four columns have five edges
const kKindsFrom = 75;

const isBad = (entry: AuditEntry) =>
  (entry.kind === "run" && (entry.event.outcome !== "exited" || entry.event.exitCode !== 0)) ||
  (entry.kind === "transaction" && entry.event.outcome !== "done") ||
  entry.kind === "gap" ||
  entry.kind === "recovered";

const time = (at: string) => at.replace("T", " ").replace(/\.\d+Z$/, "Z");

function cut(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, width - 1).join("")}…`;
}

/** Returns a table of the records, or a text if there are none; ends with a newline. */
export function showText(
  entries: readonly AuditEntry[],
  omitted: number,
  useColors: boolean,
  columns = 100,
): string {
  if (entries.length === 0) return "no records\n";
  const colors = pc.createColors(useColors);
  const width = Math.min(Math.max(columns, kNarrowest), kWidest);
  const [number, at, kind, end] = kOfOthers;
  const isWide = width >= kKindsFrom; // a narrow table has no kinds
  const what = width - number - at - (isWide ? kind + 1 : 0) - end - kLines;
  const withKind = <Cell>(cells: readonly Cell[]) => cells.filter((_, at) => isWide || at !== 2);
  const table = new Table({
    head: withKind(["No.", "Time", "Kind", "What", "End"].map((text) => colors.bold(text))),
    colWidths: withKind([number, at, kind, Math.max(what, 12), end]),
    style: { head: [], border: [] },
    chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" }, // no separators between rows
  });
  for (const entry of entries) {
    const reported = cut(visibleLine(entryText(entry)), Math.max(what, 12) - 2);
    const ended = cut(visibleLine(endText(entry)), end - 2);
    const paint = isBad(entry) ? colors.red : (text: string) => text;
    table.push(withKind([String(entry.seq), time(entry.at), entry.kind, reported, paint(ended)]));
  }
  const before = omitted > 0 ? `${omitted} earlier ones are not shown: see --limit\n` : "";
  return `${before}${table.toString()}\n`;
}

/** Formats records as comma-separated values (RFC 4180). Pure. */

const kColumns = [
  "seq",
  "time",
  "kind",
  "what",
  "end",
  "runtime",
  "duration_ms",
  "policy_hash",
  "transaction",
  "denials",
  "connections",
  "hash",
] as const;

/**
 * Quotes a value; a value that a spreadsheet would take for a formula gets a leading apostrophe (CWE-1236).
 */
function cell(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns the heading; ends like all lines. */
export const csvHead = (): string => `${kColumns.join(",")}\r\n`;

/** Returns one line. */
export function csvLine(entry: AuditEntry): string {
  const { seq, at, kind, hash } = entry;
  const run = entry.kind === "run" ? entry.event : undefined;
  const transaction = entry.kind === "transaction" ? entry.event : undefined;
  const cells: Record<(typeof kColumns)[number], string | number | undefined> = {
    seq,
    time: at,
    kind,
    what: entryText(entry),
    end: endText(entry),
    runtime: run?.runtime,
    duration_ms: run?.durationMs ?? transaction?.durationMs,
    policy_hash: run?.policyHash,
    transaction: run?.transaction ?? transaction?.transaction,
    denials: run?.denials?.length,
    connections: run?.connections?.length,
    hash,
  };
  return `${kColumns.map((column) => cell(cells[column])).join(",")}\r\n`;
}

/** Formats records as one page: no script, no external resources, and all text escaped. Pure. */

const kEscapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string) =>
  visibleText(text).replace(/[&<>"']/g, (character) => kEscapes[character] ?? "");

const kStyle = `
:root { color-scheme: light dark; --line: #8884; --bad: #b3261e; --good: #146c2e; --dim: #5f6368 }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7bd88f; --dim: #a8adb3 } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 80rem; margin: 0 auto; padding: 1.5rem 1rem }
h1 { font-size: 1.5rem; margin: 0 0 .5rem }
p { margin: .25rem 0 } .bad { color: var(--bad) } .good { color: var(--good) } .dim { color: var(--dim) }
code, pre, summary .what { font-family: ui-monospace, monospace; font-size: .875rem }
code, .what { overflow-wrap: anywhere }
ol { list-style: none; margin: 1.5rem 0 0; padding: 0 } li { border-top: 1px solid var(--line) }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: .25rem .75rem; padding: .5rem .25rem }
summary:focus-visible { outline: 2px solid Highlight; outline-offset: -2px }
summary::before { content: "▸"; width: 1em } details[open] > summary::before { content: "▾" }
summary .what { flex: 1 1 20rem } time { white-space: nowrap; color: var(--dim) }
.kind { font-weight: 600; min-width: 6.5rem } .seq { min-width: 4ch; text-align: right }
.seq, time { font-variant-numeric: tabular-nums }
pre { margin: 0 0 .75rem 1.75rem; padding: .75rem; background: #8881; overflow-x: auto; border-radius: .25rem }
`;

/** Returns the page up to its first record. `found`: the verification of the whole log. */
export function htmlHead(path: string, found: AuditVerification): string {
  const reported = found.ok
    ? '<p class="good">The chain of hashes is whole.</p>'
    : `<p class="bad">The log was changed: ${counted(found.problems.length + found.problemsOmitted, "problem")}.</p>`;
  const problems = found.problems
    .map(
      ({ kind, file, line, message }) =>
        `<li class="bad">${escaped(`${kind} ${file}:${line}: ${message}`)}</li>`,
    )
    .join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Audit log ${escaped(path)}</title>
<style>${kStyle}</style>
</head>
<body>
<main>
<h1>Audit log <code>${escaped(path)}</code></h1>
<p>${counted(found.records, "record")} in ${counted(found.files.length, "file")}; head <code>${found.head ?? "none"}</code></p>
${reported}
<p class="dim">This page is a copy. What proves something is the log itself: <code>native-runner audit verify</code>.</p>
${problems === "" ? "" : `<ul>${problems}</ul>`}
<ol>
`;
}

/** Returns one record. */
export function htmlEntry(entry: AuditEntry): string {
  const end = endText(entry);
  const isBad = entry.kind === "run" ? end !== "exited 0" : end !== "" && end !== "done";
  const ended = end === "" ? "" : `<span class="${isBad ? "bad" : "good"}">${escaped(end)}</span>`;
  return `<li><details><summary><span class="seq dim">${entry.seq}</span>
<time datetime="${escaped(entry.at)}">${escaped(entry.at.replace("T", " ").replace(/\.\d+Z$/, "Z"))}</time>
<span class="kind">${escaped(entry.kind)}</span> <span class="what">${escaped(entryText(entry))}</span> ${ended}</summary>
<pre tabindex="0">${escaped(JSON.stringify(entry, null, 2))}</pre></details></li>
`;
}

/** Returns the rest of the page. */
export const htmlEnd = (): string => "</ol>\n</main>\n</body>\n</html>\n";

/**
 * Formats records as OpenTelemetry logs, in the JSON of OTLP: each line is an ExportLogsServiceRequest, as
 * the collector's `otlpjsonfile` receiver and `/v1/logs` accept them. Pure.
 */

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

/** Returns nanoseconds since the epoch as text, since a double can't hold them exactly. */
const nanoseconds = (at: string) => `${Date.parse(at)}000000`;

/** Returns one line. */
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

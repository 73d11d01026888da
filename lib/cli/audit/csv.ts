/** Records as comma-separated values (RFC 4180). Pure. */

import type { AuditEntry } from "../../../types/audit-log.js";
import { endText, entryText } from "./entry-text.js";

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

/** Quoted; what a spreadsheet would take for a formula begins with an apostrophe (CWE-1236). */
function cell(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The heading; ends as all lines do. */
export const csvHead = (): string => `${kColumns.join(",")}\r\n`;

/** One line. */
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

/** A record in words, of one line. Pure; what it has is not yet fit for a terminal. */

import type { AuditEntry, AuditEvents } from "../../../types/audit-log.js";
import { shellQuote } from "../../shell-quote.js";
import { counted } from "../transactions/change-text.js";

type Run = AuditEvents["run"];

/** The command itself: of a sandbox's arguments, what stands behind the last of its own. */
export function commandOf({ cmd, argv, runtime }: Run): string[] {
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

/** What it tells. */
export function entryText({ kind, event }: AuditEntry): string {
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

/** How it ended, where it did: "exited 3", "timed-out", "conflict"; else empty. */
export function endText({ kind, event }: AuditEntry): string {
  if (kind === "transaction") return event.outcome;
  if (kind !== "run") return "";
  return event.outcome === "exited" ? `exited ${event.exitCode}` : event.outcome;
}

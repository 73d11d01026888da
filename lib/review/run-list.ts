/** The commands of a transaction, as the page shows them. */

import type { SandboxedAuditRecord } from "../../types/public.js";
import type { Change, TransactionRun } from "../../types/transaction.js";

/** One of them. */
export type ReviewRun = {
  id: number;
  command: string[];
  startedAt: string;
  durationMs: number;
  outcome: string;
  exitCode: number;
  signal: string | null;
  runtime: string;
  usage: SandboxedAuditRecord["usage"];
  denials: NonNullable<SandboxedAuditRecord["denials"]>;
  connections: NonNullable<SandboxedAuditRecord["connections"]>;
};

/** A file's time is that of the kernel's last tick, up to 10 ms ago. */
const kTickMs = 10;
/** What a run's end is told too late, and its duration in whole. */
const kRoundingMs = 1;

/** Bubblewrap's own options end with "--chdir DIRECTORY --"; a value among them may be "--". */
function commandOf({ cmd, argv, runtime }: SandboxedAuditRecord): string[] {
  const at = argv.findIndex((word, i) => word === "--chdir" && argv[i + 2] === "--");
  return runtime === "bubblewrap" && at >= 0 ? argv.slice(at + 3) : [cmd, ...argv];
}

export function reviewRuns(runs: readonly TransactionRun[]): ReviewRun[] {
  return runs.map(({ endedAt, exitCode, audit }, id) => ({
    id,
    command: commandOf(audit),
    startedAt: new Date(endedAt.getTime() - audit.durationMs).toISOString(),
    durationMs: audit.durationMs,
    outcome: audit.outcome,
    exitCode,
    signal: audit.signal,
    runtime: audit.runtime,
    usage: audit.usage,
    denials: audit.denials ?? [],
    connections: audit.connections ?? [],
  }));
}

/** Those during which a path was last changed: one, but where several ran at once. */
export function runsOf(change: Change, runs: readonly TransactionRun[]): number[] {
  const at = change.changedAt?.getTime();
  if (at === undefined) return [];
  return runs.flatMap(({ endedAt, audit }, id) => {
    const endMs = endedAt.getTime();
    const isDuring = at <= endMs + kRoundingMs && at >= endMs - audit.durationMs - kTickMs;
    return isDuring ? [id] : [];
  });
}

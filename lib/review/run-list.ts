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
/** By how much an end is told too early, being in whole milliseconds. */
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

/** When the command itself ran: its sandbox was built before, and is taken down after. */
function timeOf({ endedAt, audit }: TransactionRun): { beginMs: number; endMs: number } {
  const { setupMs, commandMs, teardownMs } = audit.timing;
  const endMs = endedAt.getTime() - (teardownMs ?? 0) + kRoundingMs;
  const lastedMs = commandMs ?? audit.durationMs - (setupMs ?? 0);
  return { beginMs: endMs - lastedMs - 2 * kRoundingMs, endMs };
}

/**
 * Those during which a path was last changed: one, but where several ran at once. One that began in the
 * same tick of the clock is only told of where there is no other.
 */
export function runsOf(change: Change, runs: readonly TransactionRun[]): number[] {
  const at = change.changedAt?.getTime();
  if (at === undefined) return [];
  const during = (slackMs: number) =>
    runs.flatMap((run, id) => {
      const { beginMs, endMs } = timeOf(run);
      return at <= endMs && at >= beginMs - slackMs ? [id] : [];
    });
  const surely = during(0);
  return surely.length > 0 ? surely : during(kTickMs);
}

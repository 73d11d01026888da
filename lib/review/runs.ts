/** The commands of a transaction, in the form sent to the page. */

import type { SandboxedAuditRecord } from "../../types/public.js";
import type { Change, TransactionRun } from "../../types/transaction.js";

/** One command. */
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

/** A file's time is that of the kernel's last tick, up to 10 ms earlier. */
const kTickMs = 10;
/** Milliseconds by which a reported end may be too early, since it is in whole milliseconds. */
const kRoundingMs = 1;

/**
 * Returns the command without bubblewrap's own options, which end with "--chdir DIRECTORY --"; one of their values may
 * be "--".
 */
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

/** Returns the time span of the command itself, without building and removing its sandbox. */
function timeOf({ endedAt, audit }: TransactionRun) {
  const { setupMs, commandMs, teardownMs = 0 } = audit.timing;
  const endMs = endedAt.getTime() - teardownMs + kRoundingMs;
  const lastedMs = commandMs ?? audit.durationMs - (setupMs ?? 0);
  return { beginMs: endMs - lastedMs - 2 * kRoundingMs, endMs, teardownMs };
}

/**
 * Returns the runs during which a path was last changed: one, unless several ran at once. A run that began in the same
 * clock tick, or whose remaining processes were ended then, counts only if no other matches.
 */
export function runsOf(change: Change, runs: readonly TransactionRun[]): number[] {
  const at = change.changedAt?.getTime();
  if (at === undefined) return [];
  const times = runs.map(timeOf);
  const those = (matches: (time: ReturnType<typeof timeOf>) => boolean) =>
    times.flatMap((time, id) => (matches(time) ? [id] : []));
  const surely = those(({ beginMs, endMs }) => at >= beginMs && at <= endMs);
  return surely.length > 0
    ? surely
    : those(
        ({ beginMs, endMs, teardownMs }) => at >= beginMs - kTickMs && at <= endMs + teardownMs,
      );
}

/** Which records of a log are asked for. Pure. */

import type { AuditEntry, AuditKind } from "../../../types/audit-log.js";
import { parseDuration } from "../values/duration.js";

/** As commander hands them over, parsed; what is not there does not filter. */
export type AuditFilter = {
  /** Milliseconds since the epoch: not before. */
  since?: number;
  /** Milliseconds since the epoch: before. */
  until?: number;
  kind?: AuditKind[];
  /** "bubblewrap", "landlock", "firejail" or "local". */
  runner?: string;
  /** Of a run, or of what was done with a transaction. */
  outcome?: string;
  /** One that a record names, or that is above one. */
  path?: string;
};

/** A time as ISO 8601 has it, or so long ago, such as 2h; NaN for what is none. */
export function parseTime(text: string, now: number): number {
  const ago = parseDuration(text);
  if (ago !== undefined && Number.isFinite(ago)) return now - ago;
  return /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
}

/** Of a run or a transaction; undefined: the kind has none. */
export function outcomeOf({ kind, event }: AuditEntry): string | undefined {
  return kind === "run" || kind === "transaction" ? event.outcome : undefined;
}

function runtimeOf({ kind, event }: AuditEntry): string | undefined {
  return kind === "run" || kind === "policy" || kind === "template" ? event.runtime : undefined;
}

/** All that a record names: what a commit has written, what was denied, words of a command, a directory. */
function* pathsOf({ kind, event }: AuditEntry): Generator<string> {
  if (kind === "transaction") {
    for (const { path, from } of event.committed ?? []) {
      yield path;
      if (from !== undefined) yield from;
    }
    yield* event.paths ?? [];
  }
  if (kind === "run") {
    for (const { path } of event.denials ?? []) if (path !== undefined) yield path;
    yield* event.argv;
    if (event.cwd !== undefined) yield event.cwd;
  }
  if (kind === "grant") yield JSON.stringify(event.value);
}

const plain = (path: string) => path.replace(/^(\.\/)+/, "").replace(/(.)\/+$/, "$1");

function names(entry: AuditEntry, path: string): boolean {
  const asked = plain(path);
  const below = asked === "/" ? asked : `${asked}/`;
  for (const named of pathsOf(entry)) {
    const one = plain(named);
    if (one === asked || one.startsWith(below)) return true;
    if (entry.kind === "grant" && named.includes(asked)) return true;
  }
  return false;
}

/** Whether a record is asked for. */
export function isAskedFor(entry: AuditEntry, filter: AuditFilter): boolean {
  const { since, until, kind, runner, outcome, path } = filter;
  const at = Date.parse(entry.at);
  if (since !== undefined && !(at >= since)) return false;
  if (until !== undefined && !(at < until)) return false;
  if (kind !== undefined && !kind.includes(entry.kind)) return false;
  if (runner !== undefined && runtimeOf(entry) !== runner) return false;
  if (outcome !== undefined && outcomeOf(entry) !== outcome) return false;
  return path === undefined || names(entry, path);
}

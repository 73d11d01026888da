/** What must hold of every run, whatever was done to the machines: told here from what they wrote. */

/** A line of the caller's. */
export type CallerLine = {
  at: number;
  call?: number;
  kind?: string;
  settled?: number;
  exitCode?: number;
  isRight?: boolean;
  /** Of output: what the result has, what was shown, what it should be. */
  lengths?: number[];
  outcome?: { kind: string; started?: string; ended?: string; reason?: string };
  thrown?: string;
  unhandled?: string;
  done?: boolean;
  closed?: boolean;
  residentBytes?: number;
};

/** What a workspace's counter file says of one run; times in milliseconds since 1970. */
type Counted = { starts: number; steps: number; lastAt: number };

/** What was done in a round, and what is then to be expected. */
export type Circumstances = {
  /** When the fault was made. */
  faultAt: number;
  /** The caller was killed: what it has not told of is no matter. */
  isCallerGone?: boolean;
  /** No step of a run that has not ended by itself later than this after the fault. */
  withinMs?: number;
  /** Calls may be refused with such an error. */
  mayThrow?: RegExp;
  /** How late the machine was with what was due, at most: so late may a step be, too. */
  lateMs?: number;
};

/** How a round went. */
export type Verdict = { complaints: string[]; outcomes: Record<string, number> };

/** A lease, and what a worker takes of an echo's age, and its launcher's time to kill: none steps after it. */
export const kWithinMs = 6_500;
/** Clocks of two processes, and a line that was on its way. */
const kSlackMs = 100;

export function readCounter(text: string): Map<number, Counted> {
  const all = new Map<number, Counted>();
  for (const line of text.split("\n")) {
    const [what, id, time] = line.split(" ");
    if (time === undefined) continue;
    const counted = all.get(Number(id)) ?? { starts: 0, steps: 0, lastAt: 0 };
    if (what === "start") counted.starts += 1;
    else counted.steps += 1;
    counted.lastAt = Math.max(counted.lastAt, Number(time) * 1000);
    all.set(Number(id), counted);
  }
  return all;
}

const kNever: Counted = { starts: 0, steps: 0, lastAt: 0 };

/** What is wrong with one settlement. */
function complaintsOf(
  line: CallerLine,
  counted: Counted,
  slackMs: number,
  mayThrow?: RegExp,
): string[] {
  const { outcome, isRight, thrown, exitCode, lengths = [] } = line;
  if (thrown !== undefined) {
    return mayThrow?.test(thrown) && counted.starts === 0 ? [] : [`it threw ${thrown}`];
  }
  const { kind = "none", started, ended, reason } = outcome ?? {};
  const wrong: string[] = [];
  if (kind === "exited" && counted.starts !== 1) wrong.push(`exited with ${counted.starts} starts`);
  if (kind === "exited" && (exitCode !== 0 || !isRight)) {
    wrong.push(`exited with ${exitCode}, its output ${isRight ? "right" : "wrong"} ${lengths}`);
  }
  const isNotStarted = kind === "queue-timeout" || started === "no";
  if (isNotStarted && counted.starts > 0) wrong.push(`${kind}, not started: it was`);
  if (started === "yes" && counted.starts === 0) wrong.push(`${kind}, started: it was not`);
  const late = counted.lastAt - line.at;
  if (late > slackMs) {
    wrong.push(`a step ${Math.round(late)} ms after ${kind} ${ended ?? ""} (${reason ?? ""})`);
  }
  return wrong;
}

/** How it was told to have ended. */
function nameOf({ outcome, thrown }: CallerLine): string {
  if (thrown !== undefined) return "thrown";
  const { kind = "none", started, ended } = outcome ?? {};
  return kind === "lost" ? `lost (started ${started}, ${ended})` : kind;
}

export function judge(
  lines: readonly CallerLine[],
  counter: Map<number, Counted>,
  { faultAt, isCallerGone = false, withinMs = kWithinMs, mayThrow, lateMs = 0 }: Circumstances,
): Verdict {
  const machineMs = 2 * lateMs; // of the worker and of the launcher
  const slackMs = kSlackMs + machineMs;
  const complaints: string[] = [];
  const outcomes: Record<string, number> = {};
  const settled = new Map<number, CallerLine[]>();
  for (const line of lines) {
    if (line.unhandled !== undefined) complaints.push(`unhandled: ${line.unhandled}`);
    if (line.settled === undefined) continue;
    settled.set(line.settled, [...(settled.get(line.settled) ?? []), line]);
  }
  for (const { call } of lines) {
    if (call === undefined) continue;
    const counted = counter.get(call) ?? kNever;
    const reported = settled.get(call) ?? [];
    if (counted.starts > 1) complaints.push(`run ${call}: ${counted.starts} starts`);
    if (reported.length > 1) complaints.push(`run ${call}: ${reported.length} outcomes`);
    const [line] = reported;
    const name = line === undefined ? "not told" : nameOf(line);
    outcomes[name] = (outcomes[name] ?? 0) + 1;
    if (line === undefined && !isCallerGone) complaints.push(`run ${call}: no outcome`);
    if (line) {
      for (const each of complaintsOf(line, counted, slackMs, mayThrow))
        complaints.push(`run ${call}: ${each}`);
    }
    const isByItself = line?.outcome?.kind === "exited";
    const late = counted.lastAt - faultAt;
    if (!isByItself && late > withinMs + machineMs) {
      const reported = `${Math.round(late)} ms after the fault, ${Math.round(lateMs)} ms late`;
      complaints.push(`run ${call} (${name}): a step ${reported}`);
    }
  }
  return { complaints, outcomes };
}

// Whether a run of chaos has done what it is for, however slow the machine is.
const kOthers = ["session", "session start", "batch", "prewarmed spawn"];
const kEnds = ["exited", "timed-out", "aborted"];
const kRoles = ["bwrap", "launcher", "command"];

const sumOf = (counts = {}) => Object.values(counts).reduce((sum, count) => sum + count, 0);

/**
 * The least number of calls that a kind of runner has had, or what is as good as that of the other
 * things: a half of it is enough of sessions and the like, a quarter of the ends of prewarmed runs and
 * of strikes. `kinds`: of runners, those that can be had; `calls` and `strikes` as in Tally.
 */
export function leastOf({ kinds, calls, strikes }) {
  if (kinds.length === 0) return 0;
  return Math.min(
    ...kinds.map((kind) => sumOf(calls[kind])),
    ...kOthers.map((kind) => 2 * sumOf(calls[kind])),
    ...kEnds.map((end) => 4 * (calls.prewarmed?.[end] ?? 0)),
    ...kRoles.map((role) => 4 * sumOf(strikes[role])),
  );
}

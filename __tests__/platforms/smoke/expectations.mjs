/** What the checks compare by, and how they show a run that came out otherwise. */

const kDecoder = new TextDecoder();

export const textOf = (bytes) => kDecoder.decode(bytes).trim();

const kMostShown = 250;

/** A run as a failed check tells of it. */
export function shown(run) {
  const said = [run.stdout, run.stderr].map((bytes) => textOf(bytes).slice(0, kMostShown));
  return `${JSON.stringify(run.outcome)} exit ${run.exitCode} ${said.join(" | ")}`;
}

export function expectEqual(got, wanted, what) {
  if (got !== wanted) {
    throw new Error(`got ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}: ${what}`);
  }
}

export function expectTrue(holds, what) {
  if (!holds) throw new Error(what);
}

/** What the package itself says can't be had here. */
export function unavailable(why) {
  return Object.assign(new Error(why), { code: "ERR_SANDBOX_UNAVAILABLE" });
}

/** A limit or a wall that can't be had here is refused by the run's outcome, which says why. */
export function expectSetUp(run) {
  if (run.outcome.kind === "setup-failed") throw unavailable(run.outcome.reason);
}

// What a run of chaos has done, counted.
export class Tally {
  hosts = 0;
  checkpoints = 0;
  balloons = 0;
  freezes = 0;
  grownBytes = 0;
  /** Settled calls: to how many something was, or may have been, done, and to how many nothing. */
  touched = { "left alone": 0, struck: 0, replaced: 0, closed: 0 };
  /** By kind of runner, then by outcome. */
  calls = {};
  /** By what became of them: killed, left, finished. */
  fates = {};
  /** By role of the process, then by signal. */
  strikes = {};
  /** Kinds of runners that this host can't have, with the reason. */
  missing = {};
  /** Kinds of runners that it can. */
  kinds = [];

  call = (runnerKind = "planted", outcome, touched) => {
    const done = Object.keys(touched ?? {}).filter((each) => touched[each]);
    if (touched !== undefined && done.length === 0) done.push("left alone");
    for (const each of done) this.touched[each] += 1;
    this.calls[runnerKind] ??= {};
    this.calls[runnerKind][outcome] = (this.calls[runnerKind][outcome] ?? 0) + 1;
  };

  addHost({ fate, kinds }) {
    this.hosts += 1;
    this.fates[fate] = (this.fates[fate] ?? 0) + 1;
    for (const { kind, why } of kinds) {
      if (why !== undefined) this.missing[kind] = why;
      else if (!this.kinds.includes(kind)) this.kinds.push(kind);
    }
  }

  growth(bytes) {
    this.grownBytes = Math.max(this.grownBytes, bytes);
  }

  strike = ({ role, signal }) => {
    this.strikes[role] ??= {};
    this.strikes[role][signal] = (this.strikes[role][signal] ?? 0) + 1;
  };

  finish(freezes, balloons) {
    this.freezes = freezes;
    this.balloons = balloons;
  }
}

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
  #kinds = new Set();

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
      else this.#kinds.add(kind);
    }
  }

  /** Of the kinds of runners that this host can have, the calls of the one that has had fewest. */
  get leastCalls() {
    const sumOf = (outcomes) => Object.values(outcomes).reduce((sum, count) => sum + count, 0);
    const counts = [...this.#kinds].map((kind) => sumOf(this.calls[kind] ?? {}));
    return counts.length === 0 ? 0 : Math.min(...counts);
  }

  growth(bytes) {
    this.grownBytes = Math.max(this.grownBytes, bytes);
  }

  finish(strikes, freezes, balloons) {
    this.freezes = freezes;
    this.balloons = balloons;
    for (const { role, signal } of strikes) {
      this.strikes[role] ??= {};
      this.strikes[role][signal] = (this.strikes[role][signal] ?? 0) + 1;
    }
  }
}

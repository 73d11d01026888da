// The runners of one Node environment, one of each kind. A slot is what stands for a runner: closing
// takes it out of the set, with a new one in its place, while calls may still hold the old.
import {
  BubblewrapNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../../../../dist/index.js";

const bubblewrap = (options) => (shadowDir) =>
  new BubblewrapNativeRunner({ shadowDir, maxConcurrent: 6, ...options });

export const kRunnerKinds = [
  { kind: "cold", weight: 4, make: bubblewrap({ prewarm: 0 }) },
  { kind: "prewarmed", weight: 6, make: bubblewrap({ prewarm: 3, prewarmIdleMs: 400 }) },
  { kind: "adaptive", weight: 3, make: bubblewrap({}) },
  { kind: "narrow", weight: 2, make: bubblewrap({ prewarm: 1, maxConcurrent: 2 }) },
  { kind: "compat", weight: 2, make: bubblewrap({ isolation: "compat" }) },
  { kind: "landlock", weight: 3, make: (shadowDir) => new LandlockNativeRunner({ shadowDir }) },
  { kind: "local", weight: 2, make: (shadowDir) => new LocalNativeRunner({ shadowDir }) },
];

export class RunnerSet {
  #slots;
  #closing = [];
  #made = 0;
  #name;
  #ledger;

  constructor(name, kinds, workspaces, ledger) {
    this.#name = name;
    this.#ledger = ledger;
    const chosen = kRunnerKinds.filter(({ kind }) => kinds.includes(kind));
    this.#slots = chosen.map((each, i) => this.#fresh(each, workspaces[i % workspaces.length]));
  }

  #fresh({ kind, weight, make }, workspace) {
    const id = `${this.#name}/${kind}-${this.#made++}`;
    return { id, kind, weight, make, workspace, runner: make(workspace.path), isClosed: false };
  }

  pick(random) {
    return random.weighted(this.#slots);
  }

  /** The one of this kind, if the set has it. */
  ofKind(kind) {
    return this.#slots.find((slot) => slot.kind === kind);
  }

  /** One that has a method of this name. */
  pickWith(random, method) {
    return random.weighted(this.#slots.filter(({ runner }) => method in runner));
  }

  /** Closes a runner, whatever it is at. */
  close(slot) {
    if (slot.isClosed) return;
    slot.isClosed = true;
    this.#slots[this.#slots.indexOf(slot)] = this.#fresh(slot, slot.workspace);
    this.#end(slot);
  }

  /** Forgets a runner: what it has is left to the garbage collector. */
  drop(slot) {
    if (slot.isClosed) return;
    this.#slots[this.#slots.indexOf(slot)] = this.#fresh(slot, slot.workspace);
  }

  #end(slot) {
    if (!("close" in slot.runner)) return;
    this.#ledger.write({ event: "close", runner: slot.id });
    this.#closing.push(slot.runner.close());
  }

  /** Closes all, and resolves when all that ever were are. The set is of no use any more. */
  async closeAll() {
    for (const slot of this.#slots) {
      slot.isClosed = true;
      this.#end(slot);
    }
    await Promise.all(this.#closing);
  }
}

// Signals to processes of a host's runs, and who may have felt them: { at, until, host, call, role,
// signal } for each, where `until` is when the struck process was seen gone, or was woken, and `call` is
// missing where it was not known whose process that was.
//
// Only what descends from a host of ours in the process tree is struck. Launchers and bwraps are left
// alone where no pid namespace holds the tree together: there it is documented (docs/security.md) that
// background processes outlive them.
import { now } from "../judge/ledger.mjs";
import { isThere, ProcessTree, signal } from "./process-tree.mjs";
import { membersBelow } from "./sandboxes.mjs";

const kRoles = [
  { role: "bwrap", weight: 3 },
  { role: "launcher", weight: 3 },
  { role: "sub-launcher", weight: 2 },
  { role: "command", weight: 3 },
];
const kSignals = [
  { name: "SIGKILL", weight: 6 },
  { name: "SIGSTOP", weight: 3 },
  { name: "SIGTERM", weight: 1 },
];
const kForLaunchers = kSignals.slice(0, 2); // they block all that can be blocked
const kMostStoppedMs = 2500;
const kMostUnknownMs = 300; // every call of the host may feel it meanwhile: few are to be excused
const kMostFrozenMs = 600;

export class Strikes {
  all = [];
  freezes = 0;
  #open = [];
  #stopped = [];
  #mark;
  #random;

  constructor(mark, random) {
    this.#mark = mark;
    this.#random = random;
  }

  /** Strikes one process of a host, if there is one of the drawn role. */
  strike(host) {
    const { role } = this.#random.weighted(kRoles);
    const signals = role.endsWith("launcher") ? kForLaunchers : kSignals;
    const { name } = this.#random.weighted(signals);
    const at = now(); // before the tree is read: a call that ends meanwhile can't have felt it
    const candidates = membersBelow(new ProcessTree(), host.pid, this.#mark).filter(
      (member) => member.role === role && (role === "command" || member.isContained),
    );
    if (candidates.length === 0) return;
    const { process, call } = this.#random.pick(candidates);
    if (!signal(process, name)) return;
    const strike = { at, until: undefined, host: host.name, call, role, signal: name, process };
    this.all.push(strike);
    this.#open.push(strike);
    if (name === "SIGSTOP") {
      const mostMs = call === undefined ? kMostUnknownMs : kMostStoppedMs;
      const untilMs = at + this.#random.int(0, mostMs);
      const next = this.#random.chance(0.5) ? "SIGCONT" : "SIGKILL";
      this.#stopped.push({ untilMs, next, process, strike });
    }
  }

  /**
   * Freezes a host for a moment. Nobody counts as struck: all that may come of it is a deadline that
   * passes, and only the short ones can.
   */
  freeze(host) {
    const found = new ProcessTree().childrenOf(process.pid).find(({ pid }) => pid === host.pid);
    if (found === undefined || !signal(found, "SIGSTOP")) return;
    this.freezes += 1;
    const untilMs = now() + this.#random.int(0, kMostFrozenMs);
    this.#stopped.push({ untilMs, next: "SIGCONT", process: found });
  }

  /** Wakes or kills what has been stopped for long enough (`all`: at once); sees what is gone. */
  look(all = false) {
    const time = now();
    const due = this.#stopped.filter(({ untilMs }) => all || untilMs <= time);
    this.#stopped = this.#stopped.filter((each) => !due.includes(each));
    for (const { next, process, strike } of due) {
      signal(process, next);
      // From here on it is as good as any other: who has taken it before, has begun before.
      if (next === "SIGCONT" && strike !== undefined) strike.until = now();
    }
    for (const strike of this.#open) {
      if (!isThere(strike.process)) strike.until ??= now();
    }
    this.#open = this.#open.filter(({ until }) => until === undefined);
  }
}

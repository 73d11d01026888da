// The machine's processes at one moment, as /proc has them, and who descends from whom.
import { readdirSync, readFileSync } from "node:fs";

function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const close = text.lastIndexOf(")");
    const fields = text.slice(close + 2).split(" ");
    const name = text.slice(text.indexOf("(") + 1, close);
    // proc_pid_stat(5): state, ppid … starttime, which with the pid is one process for ever.
    return { pid, name, state: fields[0], parent: Number(fields[1]), started: fields[19] };
  } catch {
    return undefined; // gone
  }
}

/** The command line's words; none for a zombie, or when it is gone. */
export function wordsOf({ pid }) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}

/** What to tell of a process that should not be there. */
export const describe = (process) =>
  `${process.name} (pid ${process.pid}, ${process.state}, parent ${process.parent}): ` +
  wordsOf(process).join(" ").slice(0, 120);

export const keyOf = ({ pid, started }) => `${pid} ${started}`;

export const isDead = ({ state }) => state === "Z" || state === "X";

/** Whether this very process is still there, and no other that has got its number. */
export const isThere = (process) => statOf(process.pid)?.started === process.started;

/** Signals a process that a tree has shown to be ours, unless it is gone; whether it was there. */
export function signal(target, name) {
  // A number comes to another process only after all others have been given out: not between these.
  if (!isThere(target)) return false;
  try {
    return process.kill(target.pid, name);
  } catch {
    return false;
  }
}

export class ProcessTree {
  #children = new Map();
  #processes = new Map();

  constructor() {
    for (const entry of readdirSync("/proc")) {
      const found = Number(entry) > 0 ? statOf(Number(entry)) : undefined;
      if (found === undefined) continue;
      this.#processes.set(found.pid, found);
      const siblings = this.#children.get(found.parent);
      if (siblings === undefined) this.#children.set(found.parent, [found]);
      else siblings.push(found);
    }
  }

  get all() {
    return [...this.#processes.values()];
  }

  childrenOf(pid) {
    return this.#children.get(pid) ?? [];
  }

  /** All below `pid`, but for what is at or below those in `without`. */
  descendantsOf(pid, without = new Set()) {
    const found = this.childrenOf(pid).filter((child) => !without.has(child.pid));
    for (let i = 0; i < found.length; i += 1) {
      found.push(...this.childrenOf(found[i].pid).filter((child) => !without.has(child.pid)));
    }
    return found;
  }
}

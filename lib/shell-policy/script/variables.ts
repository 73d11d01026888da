/**
 * The values that a command line gives its variables, so that a word pieced together from them is judged as
 * the text that it becomes. Values only add findings: a word with an expansion is judged without them first.
 */

import type { Bindings, Value } from "./expansion.js";

/** Values that one variable may have at one place; older ones are forgotten. */
const kMostValues = 16;
/** Longer values are not kept. */
const kMostText = 4096;
/** Combinations of values that one command is read with. */
const kMostReadings = 16;

type Known = {
  /** What it may be at the place that was reached, the latest value first. */
  reaching: Value[];
  /** What it was set to anywhere so far. */
  readonly all: Value[];
  /** Grows when it gets a value that it did not have before at the place that was reached. */
  version: number;
};

function put(values: Value[], value: Value): boolean {
  if (values.some(({ text }) => text === value.text)) return false;
  values.unshift(value);
  if (values.length > kMostValues) values.pop();
  return true;
}

/** An empty value counts only if there is no other: `x=; [ -n "$y" ] || x=build`. */
function likely(values: readonly Value[]): readonly Value[] {
  const filled = values.filter(({ text }) => text !== "");
  return filled.length > 0 ? filled : values;
}

const kNone: readonly Value[] = [];

export class Variables {
  readonly #known = new Map<string, Known>();
  readonly #targets = new Map<string, string>();
  #version = 0;

  /** Grows with every version of a variable. */
  get version(): number {
    return this.#version;
  }

  /** The version of one variable; 0 if it has no value. */
  versionOf(name: string): number {
    return this.#known.get(this.#targets.get(name) ?? name)?.version ?? 0;
  }

  /** Adds a value that a variable may have from here on. */
  add(name: string, value: Value): void {
    if (value.text.length > kMostText) return;
    let known = this.#known.get(name);
    if (known === undefined) {
      known = { reaching: [], all: [], version: 0 };
      this.#known.set(name, known);
    }
    put(known.all, value);
    if (!put(known.reaching, value)) return;
    known.version++;
    this.#version++;
  }

  /** Forgets that a variable may have a value other than these here. */
  only(name: string, values: readonly Value[]): void {
    const known = this.#known.get(name);
    if (known) known.reaching = [...values].reverse().slice(0, kMostValues);
  }

  /** Makes a name stand for another variable (`declare -n`). */
  refer(name: string, target: string): void {
    this.#targets.set(name, target);
  }

  /** The variable that a name stands for, without its subscript. */
  target(name: string): string {
    return this.#targets.get(name)?.replace(/\[.*/s, "") ?? name;
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** Values that may reach the current place, the latest first. */
  readonly reaching = (name: string): readonly Value[] => {
    return likely(this.#known.get(this.#targets.get(name) ?? name)?.reaching ?? kNone);
  };

  /** All values, for what may run later than it stands: the body of a function or a loop, a trap. */
  readonly all = (name: string): readonly Value[] => {
    return likely(this.#known.get(this.#targets.get(name) ?? name)?.all ?? kNone);
  };
}

/** Goes through the combinations of values of the variables that one command reads. */
export class Readings implements Bindings {
  readonly #values: (name: string) => readonly Value[];
  readonly #chosen = new Map<string, { readonly values: readonly Value[]; at: number }>();
  #count = 1;
  #differs = false;

  constructor(values: (name: string) => readonly Value[]) {
    this.#values = values;
  }

  /** The variables that were read. */
  get names(): string[] {
    return [...this.#chosen.keys()];
  }

  /** True if a value was read. */
  get different(): boolean {
    return this.#differs;
  }

  differs(): void {
    this.#differs = true;
  }

  get separators(): string {
    return this.#values("IFS")[0]?.text ?? " \t\n";
  }

  /** True if every variable that was read has one value. */
  get single(): boolean {
    return [...this.#chosen.values()].every(({ values }) => values.length < 2);
  }

  value(name: string): Value | undefined {
    let chosen = this.#chosen.get(name);
    if (chosen === undefined) {
      chosen = { values: this.#values(name), at: 0 };
      this.#chosen.set(name, chosen);
    }
    const value = chosen.values[chosen.at];
    if (value) this.#differs = true;
    return value;
  }

  /** Chooses the next combination; false if there is none, or too many were read. */
  next(): boolean {
    if (!this.#differs || ++this.#count > kMostReadings) return false;
    for (const chosen of this.#chosen.values()) {
      if (++chosen.at < chosen.values.length) return true;
      chosen.at = 0;
    }
    return false;
  }
}

/**
 * The values that a command line gives its variables, so that a word pieced together from them is judged as
 * the text that it becomes. Values only add findings: a word with an expansion is judged without them first.
 */

import type { WorkingDirectory } from "../path.js";
import { type Bindings, kElement, kExpansion, type Value } from "./expansion.js";
import type { ShellWord } from "./word.js";

/** Values that one variable may have at one place; older ones are forgotten. */
const kMostValues = 16;
/** Longer values are not kept. */
const kMostText = 4096;
/** Combinations of values that one command is read with. */
const kMostReadings = 16;
/** Rounds in which later parts are read again: a value may come from a function that stands after its use. */
const kMostRounds = 3;
/** Characters of values that one arithmetic expression is filled with. */
const kMostArithmetic = 16 * 1024;

type Known = {
  /** The values that it may have at the current place, the latest first. */
  reaching: Value[];
  /** All values that were assigned to it so far. */
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
  if (values.length < 2 || values.every(({ text }) => text !== "")) return values;
  return values.filter(({ text }) => text !== "");
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
    if (known)
      known.reaching = values.length < 2 ? [...values] : values.slice(-kMostValues).reverse();
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

/** The version of each variable that a part has read. */
type VariablesRead = ReadonlyMap<string, number>;

/** A part of the line that may run after later assignments: the body of a loop or a function, a trap. */
type LatePart = {
  readonly read: VariablesRead;
  readonly directory: string | undefined;
  readonly work: () => void;
};

/** True if a word may differ once the values of variables are known. */
function isOpen({ literal, raw }: ShellWord): boolean {
  return !literal && /[$`]/.test(raw);
}

/**
 * Has each part of a line read without values, then with each combination of the values that may reach it.
 * Keeps the values that the parts set.
 */
export class ValueReader {
  readonly variables = new Variables();
  readonly #going: () => boolean;
  readonly #directory: WorkingDirectory;
  #readings: Readings | undefined;
  /** True if a word of the part at hand has an expansion. */
  #open = false;
  /** Variables that the part at hand sets, with the values that are known. */
  #set: Map<string, Value[]> | undefined;
  #later: LatePart[] = [];

  /** @param going false once no further reading is needed. */
  constructor(going: () => boolean, directory: WorkingDirectory) {
    this.#going = going;
    this.#directory = directory;
  }

  /** The values that words are read with at the moment; undefined: none. */
  get readings(): Readings | undefined {
    return this.#readings;
  }

  /** True if reading with values gave the same as without. */
  get same(): boolean {
    return this.#readings !== undefined && !this.#readings.different;
  }

  /** True if the part at hand sets the variable. */
  sets(name: string): boolean {
    return this.#set?.has(name) === true;
  }

  /** Notes words of the part at hand; without words, that it has an expansion. */
  notice(words?: readonly ShellWord[]): void {
    this.#open ||= words === undefined || words.some(isOpen);
  }

  /** Does the work of a part; `certain`: it runs once, where it stands. */
  read(certain: boolean, work: () => void): void {
    const readings = this.#readings;
    const open = this.#open;
    const set = this.#set;
    this.#readings = undefined;
    this.#open = false;
    this.#set = undefined;
    work();
    if (this.#open && this.#going()) {
      const read = this.#readWith(this.variables.reaching, work);
      if (!certain) this.#later.push({ read, directory: this.#directory.path, work });
    }
    if (certain) this.#replace();
    this.#readings = readings;
    this.#open = open;
    this.#set = set;
  }

  /** Forgets the values that the part at hand has replaced. */
  #replace(): void {
    for (const [name, values] of this.#set ?? []) this.variables.only(name, values);
  }

  /** Reads again, with all values, what may run after later assignments. */
  readLater(): void {
    const { path } = this.#directory;
    for (let round = 0; round < kMostRounds; round++) {
      const parts = this.#later;
      this.#later = [];
      for (const part of parts) {
        if (!this.#going()) return;
        let { read } = part;
        if ([...read].some(([name, version]) => this.variables.versionOf(name) !== version)) {
          this.#directory.path = part.directory;
          read = this.#readWith(this.variables.all, part.work);
        }
        this.#later.push({ ...part, read });
      }
    }
    this.#directory.path = path;
  }

  /** Returns the variables that were read, with their versions. */
  #readWith(values: (name: string) => readonly Value[], work: () => void): VariablesRead {
    const readings = new Readings(values);
    const { version } = this.variables;
    do {
      this.#readings = readings;
      work();
    } while (this.#going() && readings.next());
    this.#readings = undefined;
    const changed = this.variables.version !== version;
    const versionOf = (name: string) => (changed ? -1 : this.variables.versionOf(name));
    return new Map(readings.names.map((name) => [name, versionOf(name)]));
  }

  /** Returns arithmetic with the values of its variables; undefined without values. */
  filled(text: string): string | undefined {
    const readings = this.#readings;
    this.notice();
    if (readings === undefined) return undefined;
    let left = kMostArithmetic;
    // A substitution that stands there itself is visited as a command.
    return text.replace(/\$\{?(\w+|[@*])\}?|\$[({]|`/g, (_, name) => {
      const value = name === undefined ? " " : (readings.value(name)?.text ?? kExpansion);
      left -= value.length;
      return left < 0 ? "" : value;
    });
  }

  /** Keeps the value of a variable for later words, if it is known. */
  record(name: string, { text, literal }: Value): void {
    this.#set ??= new Map();
    const values = this.#set.get(name) ?? [];
    this.#set.set(name, values);
    if (text.includes(kExpansion) || (text === "" && !literal)) return;
    values.push({ text, literal });
    this.variables.add(name, { text, literal });
  }

  recordElement(name: string, key: string, value: Value): void {
    this.record(`${name}[${key}]`, value);
    for (const all of [`${name}[@]`, `${name}[*]`]) {
      const [before] = this.variables.reaching(all);
      const text = before ? before.text + kElement + value.text : value.text;
      this.record(all, { text, literal: value.literal });
    }
  }

  recordArray(name: string, values: readonly Value[], append: boolean): void {
    let next = 0;
    while (append && this.variables.has(`${name}[${next}]`)) next++;
    if (next === 0) for (const all of [`${name}[@]`, `${name}[*]`]) this.variables.only(all, []);
    for (const value of values) {
      const [assigned, key] = /^\[([^\]]*)\]=/.exec(value.text) ?? [""];
      const text = value.text.slice(assigned.length);
      this.recordElement(name, key ?? String(next++), { ...value, text });
    }
  }
}

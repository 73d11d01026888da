/**
 * A directory whose entries are reached step by step, each step below the one before and through no
 * symbolic link: by open directories, whose names in /proc/self/fd the kernel resolves to the very
 * directories. What is swapped in meanwhile is ELOOP or ENOTDIR, and leads nowhere. One thread; blocks.
 */

import { closeSync, constants, fchmodSync, fstatSync, openSync, readdirSync } from "node:fs";

import { kTop } from "./paths.js";
import { type Stamp, stampOf } from "./stamp.js";

const kDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const kOwn = 0o700;

type Step = { readonly name: string; readonly descriptor: number };

/** To be closed. Holds a descriptor for each directory on the way to where it was last. */
export class Beneath {
  readonly #steps: Step[] = [];
  readonly #mayWrite: boolean;

  /**
   * @param directory whose own path is followed through links.
   * @param mayWrite whether directories that keep their owner out are opened to the owner on the way:
   * only for trees that are this process' own.
   */
  constructor(directory: string, { mayWrite = false } = {}) {
    this.#mayWrite = mayWrite;
    const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    this.#steps.push({ name: "", descriptor });
  }

  /** A name that leads to an entry for as long as no other is asked for; throws as openat(2). */
  nameOf(path: string): string {
    if (path === kTop) return `/proc/self/fd/${this.#at(0)}/.`;
    const names = path.split("/");
    const last = names.pop();
    return `/proc/self/fd/${this.#reach(names)}/${last}`;
  }

  /** A descriptor of a directory, which stays this object's. */
  directory(path: string): number {
    return path === kTop ? this.#at(0) : this.#reach(path.split("/"));
  }

  /** Of the entry itself. */
  lstat(path: string): Stamp {
    return stampOf(path === kTop ? this.#at(0) : this.nameOf(path));
  }

  /** Names in a directory. */
  list(path: string): string[] {
    return readdirSync(`/proc/self/fd/${this.directory(path)}`);
  }

  /** Opens a file, waiting for nobody; what it is has to be looked at. To be closed by who calls. */
  open(path: string): number {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return openSync(this.nameOf(path), flags | constants.O_NOCTTY);
  }

  /** Forgets the way to where it was last: for directories that are about to go, or have gone. */
  rise(): void {
    for (const { descriptor } of this.#steps.splice(1).reverse()) closeSync(descriptor);
  }

  close(): void {
    for (const { descriptor } of this.#steps.splice(0).reverse()) closeSync(descriptor);
  }

  #at(depth: number): number {
    const step = this.#steps[depth];
    if (step === undefined) throw new Error("the directory was closed");
    return step.descriptor;
  }

  #reach(names: readonly string[]): number {
    let depth = 0;
    while (depth < names.length && this.#steps[depth + 1]?.name === names[depth]) depth += 1;
    for (const { descriptor } of this.#steps.splice(depth + 1).reverse()) closeSync(descriptor);
    for (const name of names.slice(depth)) {
      this.#steps.push({ name, descriptor: this.#enter(name) });
    }
    return this.#at(names.length);
  }

  #enter(name: string): number {
    const path = `/proc/self/fd/${this.#at(this.#steps.length - 1)}/${name}`;
    const descriptor = openSync(path, kDirectory);
    if (!this.#mayWrite) return descriptor;
    const { mode } = fstatSync(descriptor);
    if ((mode & kOwn) !== kOwn) fchmodSync(descriptor, (mode & 0o777) | kOwn);
    return descriptor;
  }
}

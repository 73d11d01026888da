/** Finds the host's package caches that a sandbox shows copy-on-write. */

import { isAbsolute, join, relative, resolve } from "node:path";
import type { SandboxCaches } from "../../types/public.js";
import { invalidValue } from "../errors.js";
import { nearest } from "../fields.js";
import { kCacheNames } from "../options.js";
import { covers } from "../paths.js";
import { type CacheLayout, type CachePlace, kCacheLayouts } from "./cache-layouts.js";
import { farMounts, type HostLook, mountPoints } from "./host-look.js";

/** A directory that is shown: a real path of the host, where it is inside, and names in it that are not shown. */
export type FoundCache = {
  name: string;
  source: string;
  target: string;
  hidden: string[];
};

/** A directory of a cache that is not shown, and why: a clause. */
export type LeftOutCache = { name: string; path: string; why: string };

/** The result of a search, and what it depends on. */
export type FoundCaches = {
  caches: FoundCache[];
  leftOut: LeftOutCache[];
  /** Values of variables that the tools inside find their caches with. */
  variables: Record<string, string>;
  /** Paths whose state decides. */
  watched: string[];
};

/** Where caches are looked for. */
export type CacheSearch = {
  caches: SandboxCaches;
  /** The user's home on the host. */
  home: string;
  /** The home inside. */
  inside: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Directories of the host that commands may write to, or that are mounted elsewhere. */
  taken: readonly string[];
};

const kMissing = "it is not there";

/**
 * Checks the names of the option `caches`.
 * @throws TypeError for an unknown one, with the name that was probably meant.
 */
export function checkCacheNames(caches: unknown): void {
  if (!Array.isArray(caches)) return; // the addon checks the rest
  caches.forEach((name: unknown, at) => {
    if (typeof name !== "string" || kCacheNames.some((known) => known === name)) return;
    const meant = nearest(name, kCacheNames);
    const known = meant === undefined ? `one of ${kCacheNames.join(", ")}` : `"${meant}"`;
    throw invalidValue(`Expected \`caches[${at}]\` to be ${known}, got ${JSON.stringify(name)}`);
  });
}

/** Returns the layouts that the option names, in the table's order. */
export function layoutsOf(caches: SandboxCaches | undefined): readonly CacheLayout[] {
  if (caches === undefined || caches === "none") return [];
  if (caches === "host") return kCacheLayouts;
  return kCacheLayouts.filter(({ name }) => caches.includes(name));
}

/** The first place whose variable is set. */
function hostPathOf({ host }: CachePlace, { home, env }: CacheSearch): string | undefined {
  for (const text of host) {
    const [root = "", ...rest] = text.split("/");
    const base = root === "~" ? home : env[root.slice(1)];
    if (base !== undefined && isAbsolute(base)) return resolve(join(base, ...rest));
  }
  return undefined;
}

/** The values by which variables that move a place name it inside, relative to the home. */
export function variablesOf({ host, inside }: CachePlace): [name: string, value: string][] {
  return host
    .filter((text) => text.startsWith("$"))
    .map((text) => {
      const [root = "", ...rest] = text.split("/");
      return [
        root.slice(1),
        inside
          .split("/")
          .slice(0, -rest.length || undefined)
          .join("/"),
      ];
    });
}

class CacheFinder {
  readonly #search: CacheSearch;
  readonly #look: HostLook;
  readonly #far = farMounts();
  readonly #mounts = mountPoints(() => true);
  readonly #found: FoundCaches = { caches: [], leftOut: [], variables: {}, watched: [] };

  constructor(search: CacheSearch, look: HostLook) {
    this.#search = search;
    this.#look = look;
  }

  find(): FoundCaches {
    const { caches, inside, env } = this.#search;
    for (const { name, places } of layoutsOf(caches)) {
      const before = this.#found.caches.length;
      for (const place of places) this.#take(name, place);
      if (this.#found.caches.length === before) continue;
      for (const [variable, value] of places.flatMap(variablesOf)) {
        if (env[variable] !== undefined) this.#found.variables[variable] = join(inside, value);
      }
    }
    return this.#found;
  }

  #take(name: string, place: CachePlace): void {
    const path = hostPathOf(place, this.#search);
    if (path === undefined) return;
    this.#found.watched.push(path);
    const source = this.#look.real(path);
    const why = source === undefined ? kMissing : this.#whyNot(source);
    if (source === undefined || why !== undefined) {
      this.#found.leftOut.push({ name, path, why: why ?? kMissing });
      return;
    }
    const target = join(this.#search.inside, place.inside);
    this.#found.caches.push({ name, source, target, hidden: [...(place.hidden ?? [])] });
  }

  /** Why a real path can't be shown; undefined: it can. */
  #whyNot(source: string): string | undefined {
    if (!this.#look.isDirectory(source)) return "it is no directory";
    if (/[\n\0]/.test(source)) return "its path has a line break";
    if (this.#look.status(source)?.uid !== process.geteuid?.()) return "another user owns it";
    const unsafe = this.#look.unsafe(source);
    if (unsafe !== undefined) return unsafe;
    if (this.#far.some((each) => covers(each, source))) return "it is on another machine";
    // An overlay would not show it.
    const mount = this.#mounts.find((each) => each !== source && covers(source, each));
    if (mount !== undefined) return `another file system is mounted at ${mount}`;
    const taken = [
      ...this.#search.taken,
      this.#search.home,
      ...this.#found.caches.map((each) => each.source),
    ];
    const met = taken.find((each) => covers(source, each));
    if (met !== undefined) return `${met} lies in it`;
    const holder = [...this.#search.taken, ...this.#found.caches.map((each) => each.source)].find(
      (each) => covers(each, source),
    );
    return holder === undefined ? undefined : `it lies in ${holder}`;
  }
}

/** Returns what a transaction is told of its caches; the names of their directories say where they are inside. */
export function sharedCaches(
  { caches }: FoundCaches,
  home: string,
): { source: string; directory: string; hidden: string[] }[] {
  return caches.map(({ source, target, hidden }) => ({
    source,
    directory: relative(home, target).replaceAll("/", "+"),
    hidden,
  }));
}

/** Looks for the caches; does not open them. */
export function findCaches(search: CacheSearch, look: HostLook): FoundCaches {
  return new CacheFinder(search, look).find();
}

/**
 * Finds the tools of the host's PATH and what they need, to be shown read-only at the same paths. Reads the host
 * synchronously, some milliseconds; `Found.stamps` tell when to look again.
 */

import { basename, resolve } from "node:path";
import { above, below, covers } from "../paths.js";
import { secretsOf } from "../protected-paths.js";
import { farMounts, HostLook, readToolDirectories, type ToolDirectory } from "./host-look.js";
import { kToolLayouts, type ToolLayout } from "./tool-layouts.js";

/** A host path that is shown, read-only. */
export type Shown = { source: string; target: string };

/** The places to search, and the facts of the sandbox that bound what can be shown. */
export type Search = {
  /** The entries of PATH, absolute, in order. */
  path: readonly string[];
  /** Further paths to show. */
  paths: readonly string[];
  /** Paths that are not shown. */
  exclude: readonly string[];
  /** The home of the host's user. */
  home: string;
  /** The host's variables. */
  env: Readonly<Record<string, string | undefined>>;
  /** Paths that the sandbox shows anyway, at the same place. */
  bound: readonly string[];
  /** Paths of the sandbox's own, where nothing of the host can be shown. */
  own: readonly string[];
  /** Roots of toolchains, and files, that variables name. */
  named: readonly string[];
};

/** One tool, or one directory of PATH. */
export type FoundTool = {
  name: string;
  /** Where it is on the host. */
  root: string;
  shown: readonly string[];
  cannot: string;
};

/** The result of a search. */
export type Found = {
  shown: readonly Shown[];
  /** The entries of PATH that are there inside, with their names inside. */
  path: ReadonlyMap<string, string>;
  tools: readonly FoundTool[];
  /** Entries of PATH that are not shown, with the reason. */
  leftOut: readonly { path: string; why: string }[];
  /** Names that were looked at; a change of one means that there may be others. */
  stamps: ReadonlyMap<string, string>;
};

/** Reasons that are no danger: the caller's own choice, and nothing to show. */
export const kExcluded = "it is excluded";
export const kNoDirectory = "it is no directory";

const kMostShown = 120;
const kMostEntries = 128;
const kMostLinks = 20;

/** Directories that hold more than one program's files. */
const kTooWide: readonly string[] = [
  "",
  ".cache",
  ".config",
  ".local",
  ".local/lib",
  ".local/share",
  ".local/state",
  "Desktop",
  "Documents",
  "Downloads",
];
const kWideRoots =
  /^\/(?:|boot|dev|etc|home|media|mnt|nix|opt|proc|root|run|snap|srv|sys|tmp|usr|usr\/local|var|var\/(?:lib|tmp|cache|opt)|run\/user(?:\/\d+)?)$/;

const kProgramDirectories: readonly string[] = ["bin", "sbin", "libexec", "condabin", "shims"];

/** Names in a directory that is worked on: its settings and sources are no part of a tool. */
const kOfProjects: readonly string[] = [
  ".env",
  ".git",
  ".hg",
  ".svn",
  "Gemfile",
  "composer.json",
  "docker-compose.yml",
  "package.json",
  "pyproject.toml",
];

/** Files that often hold credentials. */
const kSecretNames: ReadonlySet<string> = new Set([
  ...[".env", ".npmrc", "npmrc", ".netrc", "netrc", ".pypirc", "pypirc", ".condarc", "condarc"],
  ...[".git-credentials", ".yarnrc.yml", "credentials"],
  ...["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"],
]);

/** Much faster than one expression, and a search asks for thousands of names. */
const isSecretName = (name: string): boolean =>
  kSecretNames.has(name) ||
  name.endsWith(".pem") ||
  name.endsWith(".key") ||
  name.startsWith(".env.") ||
  name.startsWith("credentials.");

/** A layout that is there. */
type Place = { layout: ToolLayout; root: string; shown: readonly string[] };

class Finder {
  readonly #search: Search;
  readonly #look = new HostLook();
  readonly #home: string;
  /** The same, and the real path of it. */
  readonly #homes: readonly string[];
  readonly #tooWide: ReadonlySet<string>;
  readonly #far = farMounts();
  readonly #secrets: readonly string[];
  readonly #shown = new Map<string, string>();
  readonly #masked = new Set<string>();
  readonly #needed = new Set<string>();
  readonly #tools = new Map<string, FoundTool>();
  readonly #stamps = new Map<string, string>();
  readonly #layouts: Place[] = [];
  /** Paths that need not be compared with what is shown again: nothing ceases to be. */
  readonly #known = new Set<string>();
  #directories: ReturnType<typeof readToolDirectories> = new Map();

  constructor(search: Search) {
    this.#search = search;
    this.#home = resolve(search.home);
    const homes = [...new Set([this.#home, this.#look.real(this.#home) ?? this.#home])];
    this.#homes = homes;
    this.#tooWide = new Set(homes.flatMap((home) => kTooWide.map((each) => below(home, each))));
    for (const each of search.bound) this.#known.add(each);
    this.#secrets = secretsOf(homes.filter((home) => home.startsWith("/")));
    for (const layout of kToolLayouts) {
      const root = layout.roots
        .map((text) => this.#expand(text))
        .find((at) => at && this.#look.exists(at));
      if (!root) continue;
      this.#layouts.push({ layout, root, shown: layout.shown.map((each) => below(root, each)) });
    }
  }

  find(): Found {
    const { path, paths, named } = this.#search;
    const inside = new Map<string, string>();
    const leftOut: { path: string; why: string }[] = [];
    const entries = path.slice(0, kMostEntries);
    this.#directories = readToolDirectories(entries.flatMap((each) => this.#toRead(each)));
    for (const entry of entries) {
      const why = this.#takeEntry(entry);
      if (why === undefined) inside.set(entry, this.#nameOf(entry));
      else leftOut.push({ path: entry, why });
    }
    this.#takeThoseOfPrograms([...inside.keys()]);
    for (const each of paths) {
      const why = this.#isShown(each) ? undefined : this.#show(each);
      if (why !== undefined) leftOut.push({ path: each, why });
    }
    for (const each of named) if (!this.#isShown(each)) this.#takeNamed(each);
    this.#maskSecrets();
    return {
      shown: this.#planned(),
      path: inside,
      tools: [...this.#tools.values()],
      leftOut,
      stamps: this.#stamps,
    };
  }

  #expand(text: string): string | undefined {
    const [first = "", ...rest] = text.split("/");
    if (first.startsWith("$")) {
      const value = this.#search.env[first.slice(1)];
      return value?.startsWith("/") ? below(resolve(value), rest.join("/")) : undefined;
    }
    return first === "~" ? below(this.#home, rest.join("/")) : text;
  }

  #stamp(path: string): void {
    if (!this.#stamps.has(path)) this.#stamps.set(path, this.#look.stamp(path));
  }

  #isShown(path: string): boolean {
    for (let at = path; at !== "/"; at = above(at)) if (this.#known.has(at)) return true;
    return this.#known.has("/");
  }

  /** Adds a path to what is shown; returns why it can't be. */
  #show(path: string): string | undefined {
    const { own, exclude, bound } = this.#search;
    if (/[\n\0]/.test(path)) return "its name has a newline";
    const isInHome = covers(this.#home, path) && path !== this.#home;
    if (!isInHome && own.some((each) => covers(each, path) || covers(path, each))) {
      return "the sandbox has a directory of its own there";
    }
    if (exclude.some((each) => covers(each, path))) return kExcluded;
    const real = this.#look.real(path);
    if (real === undefined) return "it is not there";
    if (this.#isTooWide(path) || this.#isTooWide(real)) return "it holds more than tools";
    if (bound.some((each) => covers(path, each))) return "it would hide a mount";
    const unsafe = this.#look.unsafe(real);
    if (unsafe !== undefined) return unsafe;
    if (this.#secrets.some((each) => covers(each, real))) return "it may hold secrets";
    const secret = this.#secrets.find((each) => covers(real, each) && this.#look.isDirectory(each));
    if (secret !== undefined) return `it holds ${secret}`;
    if (this.#shown.size >= kMostShown) return "there are too many";
    for (const target of [...this.#shown.keys()])
      if (covers(path, target)) this.#shown.delete(target);
    this.#shown.set(path, real);
    this.#known.add(path);
    this.#stamp(path);
    return undefined;
  }

  #isTooWide(path: string): boolean {
    if (kWideRoots.test(path)) return true;
    return this.#tooWide.has(path) || this.#homes.some((home) => covers(path, home));
  }

  /** Shows what the layout has; undefined if the path is in no layout's root. */
  #layoutOf(path: string): Place | undefined {
    let nearest: Place | undefined;
    for (const each of this.#layouts) {
      const isNearer = nearest === undefined || each.root.length > nearest.root.length;
      if (isNearer && each.shown.some((at) => covers(at, path))) nearest = each;
    }
    return nearest;
  }

  #takeLayout({ layout, root, shown: places }: Place): string | undefined {
    if (this.#tools.has(layout.name)) return undefined;
    const shown: string[] = [];
    let why: string | undefined;
    for (const at of places) {
      if (!this.#look.exists(at)) continue;
      const refused = this.#isShown(at) ? undefined : this.#show(at);
      if (refused === undefined) shown.push(at);
      else why ??= refused;
    }
    this.#stamp(root);
    if (shown.length === 0) return why ?? "it is not there";
    this.#tools.set(layout.name, { name: layout.name, root, shown, cannot: layout.cannot });
    for (const pattern of layout.secrets ?? []) this.#mask(root, pattern.split("/"));
    for (const name of layout.needs ?? []) {
      const other = this.#layouts.find((each) => each.layout.name === name);
      if (other) this.#takeLayout(other);
    }
    return undefined;
  }

  /** A distribution's rustup is in /usr/bin, and its toolchains are in the home. */
  #takeThoseOfPrograms(directories: readonly string[]): void {
    for (const { name, program, roots } of kToolLayouts) {
      if (program === undefined) continue;
      if (!directories.some((each) => this.#look.exists(below(each, program)))) continue;
      for (const root of roots) {
        const at = this.#expand(root);
        if (at !== undefined) this.#stamp(at);
      }
      const place = this.#layouts.find((each) => each.layout.name === name);
      if (place) this.#takeLayout(place);
    }
  }

  #mask(at: string, [first, ...rest]: readonly string[]): void {
    if (first === undefined) {
      this.#maskAt(at);
      return;
    }
    if (this.#look.isDirectory(at)) this.#stamp(at);
    const names = first === "*" ? this.#look.names(at) : [first];
    for (const name of names) this.#mask(below(at, name), rest);
  }

  #whyExcluded(path: string): string | undefined {
    if (this.#search.exclude.some((each) => covers(each, path))) return kExcluded;
    const isFar = this.#far.some((each) => covers(each, path) && !covers(each, this.#home));
    return isFar ? "it is on a file system of another machine" : undefined;
  }

  /** Takes one entry of PATH; returns why it is not there inside. */
  #takeEntry(entry: string): string | undefined {
    const isBound = this.#search.bound.some((each) => covers(each, entry));
    const whyExcluded = this.#whyExcluded(entry);
    if (whyExcluded !== undefined && !(isBound && whyExcluded === kExcluded)) return whyExcluded;
    if (!covers("/usr", entry) || covers("/usr/local", entry)) this.#stamp(entry);
    if (!this.#look.isDirectory(entry)) return kNoDirectory;
    const why = isBound ? undefined : this.#takeDirectory(entry);
    if (why !== undefined) return why;
    this.#lookAtLinks(entry);
    return undefined;
  }

  /** A link to what is bound (/sbin) has the name that it leads to. */
  #nameOf(entry: string): string {
    return this.#isShown(entry) ? entry : (this.#look.real(entry) ?? entry);
  }

  #takeDirectory(directory: string): string | undefined {
    if (this.#isShown(directory)) return undefined;
    const real = this.#look.real(directory) ?? directory;
    if (this.#search.bound.some((each) => covers(each, real))) return undefined;
    const layout = this.#layoutOf(directory) ?? this.#layoutOf(real);
    if (layout !== undefined) {
      const why = this.#takeLayout(layout);
      if (why !== undefined) return why;
      if (this.#isShown(directory)) return undefined;
    }
    const prefix = this.#installationOf(real);
    // A prefix is shown at its own place, and the entry of PATH may be a link that leads there.
    if (prefix !== undefined && covers(prefix, directory) && this.#show(prefix) === undefined) {
      this.#note(basename(prefix), prefix);
      return undefined;
    }
    if (prefix !== undefined && !this.#isShown(prefix)) this.#show(prefix);
    const why = this.#show(directory);
    if (why === undefined) this.#note(directory, directory);
    return why;
  }

  #note(name: string, root: string): void {
    this.#tools.set(root, { name, root, shown: [root], cannot: "write to it" });
  }

  /** The directory that holds the program's directory and what its programs need; undefined: there is none. */
  #installationOf(directory: string): string | undefined {
    if (!kProgramDirectories.includes(basename(directory))) return undefined;
    const prefix = above(directory);
    if (this.#isTooWide(prefix)) return undefined;
    const names = this.#look.names(prefix);
    const isOne = ["lib", "lib64", "libexec", "share", "pyvenv.cfg", "release"].some((each) =>
      names.includes(each),
    );
    const isProject = kOfProjects.some((each) => names.includes(each));
    return isOne && !isProject ? prefix : undefined;
  }

  #takeNamed(path: string): void {
    this.#stamp(path);
    if (!this.#look.exists(path)) return;
    this.#need(path);
    if (!this.#isShown(path) && this.#show(path) === undefined) this.#note(basename(path), path);
  }

  /** The entry of PATH, if its programs may need what is elsewhere. */
  #toRead(path: string): ToolDirectory[] {
    if (this.#whyExcluded(path) !== undefined) return [];
    // On most hosts /sbin is a link to what is bound.
    const real = this.#look.real(path) ?? path;
    const isBound = this.#search.bound.some((each) => covers(each, path) || covers(each, real));
    // The host's own programs lie in what is bound, with thousands of links among themselves.
    if (isBound && covers("/usr", real) && !covers("/usr/local", real)) return [];
    // What is shown as a whole (pyenv, conda with hundreds of programs) has its interpreters with it.
    const isWhole = this.#layoutOf(path)?.layout.shown.includes("") ?? false;
    return [{ path, readsScripts: !isBound && !isWhole }];
  }

  /** Shows what links in the directory lead to, and the interpreters of its scripts. */
  #lookAtLinks(directory: string): void {
    const { links = [], interpreters = [] } = this.#directories.get(directory) ?? {};
    for (const { steps, interpreter } of links) {
      for (const step of steps) {
        if (this.#needed.has(step)) continue;
        this.#needed.add(step);
        if (!this.#isShown(step)) this.#showAround(step);
      }
      if (interpreter !== undefined) this.#need(interpreter);
    }
    for (const interpreter of interpreters) this.#need(interpreter);
  }

  /** Shows what a path leads to, step by step. */
  #need(path: string, steps = 0): void {
    if (steps > kMostLinks || this.#needed.has(path)) return;
    this.#needed.add(path);
    if (!this.#isShown(path)) this.#showAround(path);
    const text = this.#look.linkText(path);
    if (text !== undefined) this.#need(resolve(above(path), text), steps + 1);
    else if (this.#isVenv(path)) this.#needInterpreterOf(path);
  }

  #isVenv(path: string): boolean {
    return this.#look.exists(below(above(above(path)), "pyvenv.cfg"));
  }

  /** A venv's programs are scripts of its python, which is a link to another. */
  #needInterpreterOf(script: string): void {
    if (!this.#look.status(script)?.isFile()) return;
    const first = this.#look.firstLine(script);
    const program = /^#!\s*(\/\S+)/.exec(first)?.[1];
    if (program !== undefined) this.#need(program);
  }

  #showAround(path: string): void {
    const status = this.#look.status(path);
    if (status === undefined) return;
    const directory = status.isDirectory() ? path : above(path);
    const layout = this.#layoutOf(path);
    if (layout !== undefined) this.#takeLayout(layout);
    if (this.#isShown(path)) return;
    const modules = path.indexOf("/node_modules/");
    if (modules >= 0) {
      const all = path.slice(0, modules + "/node_modules".length);
      if (this.#show(all) === undefined) {
        this.#note(basename(above(all)), all);
        return;
      }
    }
    const prefix = this.#installationOf(directory);
    if (prefix !== undefined && this.#show(prefix) === undefined) {
      this.#note(basename(prefix), prefix);
      return;
    }
    if (this.#show(path) === undefined) this.#note(basename(path), path);
  }

  /** Empties the files of secrets in what is shown, as far as their names tell. */
  #maskSecrets(): void {
    for (const [target, source] of [...this.#shown]) {
      for (const secret of this.#secrets) {
        if (covers(source, secret)) this.#maskAt(secret);
      }
      if (!this.#look.isDirectory(target)) continue;
      for (const part of ["", "bin", "etc"]) {
        const directory = below(target, part);
        if (!this.#look.isDirectory(directory)) continue;
        this.#stamp(directory);
        for (const name of this.#look.names(directory)) {
          if (isSecretName(name)) this.#maskAt(below(directory, name));
        }
      }
    }
  }

  /** Masks a file where its links end, if that is shown: a mount can't replace a link. */
  #maskAt(path: string): void {
    const real = this.#look.real(path);
    if (real === undefined || this.#look.isDirectory(real)) return;
    for (const [target, source] of this.#shown) {
      if (covers(source, real)) this.#masked.add(target + real.slice(source.length));
    }
  }

  /** Outer paths before those in them. */
  #planned(): Shown[] {
    const shown = [...this.#shown].map(([target, source]) => ({ source, target }));
    shown.sort((one, other) => (one.target < other.target ? -1 : 1));
    const isVisible = (path: string) => shown.some(({ target }) => covers(target, path));
    const masks = [...this.#masked].filter(isVisible).sort();
    return [...shown, ...masks.map((target) => ({ source: "/dev/null", target }))];
  }
}

/** Finds the tools. Never throws for what the host has or lacks. */
export function findTools(search: Search): Found {
  return new Finder(search).find();
}

/** Finds, on first use, what a runner's sandboxes show of the user's home and of the host's tools, and keeps it in step. */

import { readFileSync, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join, relative, resolve } from "node:path";
import type { NativeHomeView, PathStampsHandle } from "../../types/addon.js";
import type {
  BubblewrapNativeRunnerOptions,
  LandlockNativeRunnerOptions,
  SandboxCaches,
  SandboxHome,
  SandboxRoot,
} from "../../types/public.js";
import { areStillSilent, findSilentMounts, isSilent } from "../answering-path.js";
import { RootImage, type RootOfImage } from "../image/root-image.js";
import { loadAddon } from "../native.js";
import { kBubblewrap, kLandlock } from "../options.js";
import { covers } from "../paths.js";
import { accountHome } from "../protected-paths.js";
import { gitConfigQuoted, harmlessGitConfig } from "./git-identity.js";
import { homeDirectoryOf, putGitConfig } from "./home-directory.js";
import { type CacheSearch, type FoundCaches, findCaches, layoutsOf } from "./host-caches.js";
import { HostLook, stampOf, statusOf } from "./host-look.js";
import { type Found, findTools, kExcluded, kNoDirectory, type Search } from "./host-tools.js";
import { type LinkSearch, leadingOut, pathsOf, systemLinks } from "./leading-out.js";
import { privateHomes } from "./private-homes.js";
import {
  kCertificateVariables,
  kReadVariables,
  kToolchainVariables,
  kToolLayouts,
  kWritableVariables,
} from "./tool-layouts.js";

/** The options that decide what is shown. */
export type HomeOptions = Pick<
  BubblewrapNativeRunnerOptions,
  | "home"
  | "tools"
  | "caches"
  | "network"
  | "roBinds"
  | "root"
  | "mounts"
  | "shadowDir"
  | "workspacePath"
  | "allowWriteWorkspace"
> & {
  /**
   * Present for a runtime without mounts, where commands see the host's own paths: `roBinds` are then those that they
   * may read, and these are those that they may write.
   */
  writable?: readonly string[] | undefined;
};

/** Returns what decides for a Landlock runner. */
export function homeOptionsOfLandlock(options: LandlockNativeRunnerOptions): HomeOptions {
  const { home, tools, network, fsReadDirs, fsWriteDirs, shadowDir } = options;
  return {
    home,
    tools,
    network,
    roBinds: fsReadDirs,
    writable: fsWriteDirs ?? kLandlock.fsWriteDirs.paths,
    shadowDir,
  };
}

/** Returns the path at which commands see the workspace. */
export const workspaceInside = (options: Pick<HomeOptions, "shadowDir" | "workspacePath">) =>
  options.workspacePath === "same" ? resolve(options.shadowDir) : "/workspace";

/** Where a sandbox has file systems of its own, besides the home and the workspace. */
const kOwn: readonly string[] = ["/tmp", "/dev", "/proc", "/sys"];
/** PATH in a root file system that says nothing of its own: the directories that containers have. */
const kRootPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** The home where the host's can't be used: that of a system account, or none. */
const kFallbackHome = "/home/sandbox";
const kMostGitConfig = 256 * 1024;

/** Where a directory of the host is inside. */
type Shift = { host: string; inside: string };

type Env = Readonly<Record<string, string | undefined>>;

const realOf = (path: string): string | undefined => {
  if (isSilent(path)) return undefined;
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
};

/** The user's home by the system's list of users; "" for a user id without an account. */
const passwdHome = () => accountHome() ?? "";

/** The home of the host's user. */
function hostHome(env: Env): string {
  return isAbsolute(env.HOME ?? "") ? resolve(env.HOME as string) : passwdHome();
}

type Home = { path: string } | { failure: string; fix: string } | undefined;

/** The decisions that options alone make, once for a runner. */
class Shape {
  readonly home: SandboxHome;
  readonly isHomeAsked: boolean;
  readonly showsTools: boolean;
  readonly paths: readonly string[];
  readonly exclude: readonly string[];
  readonly binds: readonly string[];
  readonly shifts: readonly Shift[];
  /** The workspace on the host: its path, and the real one if that differs. */
  readonly workspace: readonly string[];
  /** The workspace inside. */
  readonly workspaceInside: string;
  /** Where the sandbox has file systems of its own, besides the home. */
  readonly own: readonly string[];
  readonly hasNetwork: boolean;
  /** Commands see the host's own paths, without mounts. */
  readonly isByRules: boolean;
  /** Directories for all, besides the home and the workspace, that commands may write. */
  readonly writable: readonly string[];
  readonly caches: SandboxCaches;
  /** Another root file system; undefined: the host's. */
  readonly root: SandboxRoot | undefined;
  readonly #areBindsNamed: boolean;
  /** Where directories of the host are inside, the innermost first; undefined: at their own places. */
  readonly #places: readonly { host: string; inside: string | undefined }[];

  constructor(options: HomeOptions) {
    const { home, tools, caches = "none", network, root, mounts = [], shadowDir } = options;
    const roBinds = root === undefined ? options.roBinds : [];
    this.root = root;
    this.caches = caches;
    this.hasNetwork = network === "allow";
    this.home = home ?? "private";
    this.isHomeAsked = home !== undefined;
    const list = typeof tools === "object" ? tools : {};
    this.showsTools =
      root === undefined && (tools ?? (roBinds === undefined ? "host" : "none")) !== "none";
    this.paths = list.paths ?? [];
    this.exclude = list.exclude ?? [];
    this.#areBindsNamed = roBinds !== undefined;
    this.isByRules = options.writable !== undefined;
    this.writable = (options.writable ?? ["/tmp"]).map((path) => resolve(path));
    const usual = this.isByRules ? kLandlock.fsReadDirs.paths : kBubblewrap.roBinds.paths;
    this.binds = (roBinds ?? usual).map((path) => resolve(path));
    this.shifts = mounts.map(({ hostPath, guestPath = hostPath }) => ({
      host: resolve(hostPath),
      inside: resolve(guestPath),
    }));
    const workspace = resolve(shadowDir);
    const real = realOf(workspace) ?? workspace;
    this.workspace = real === workspace ? [workspace] : [workspace, real];
    this.workspaceInside = this.isByRules ? real : workspaceInside(options);
    this.own = [...kOwn, this.workspaceInside];
    const places = [
      ...this.binds.map((host) => ({ host, inside: undefined })),
      ...this.workspace.map((host) => ({ host, inside: this.workspaceInside })),
      ...this.shifts,
    ];
    this.#places = places.sort((one, other) => other.host.length - one.host.length);
  }

  /** True if a bind or mount that the caller named shows the path, other than one of everything. */
  #namedOver(path: string): string | undefined {
    const named = this.#areBindsNamed ? this.binds.filter((each) => each !== "/") : [];
    return [...named, ...this.shifts.map(({ inside }) => inside)].find((each) =>
      covers(each, path),
    );
  }

  /** Where the home is inside; undefined: there is none, and nothing was promised. */
  placeOf(env: Env): Home {
    if (this.home === "none" || this.isByRules) return undefined;
    const isRootBound = this.binds.includes("/");
    for (const candidate of [env.HOME ?? "", passwdHome(), kFallbackHome]) {
      if (!isAbsolute(candidate) || /[\0\n]/.test(candidate)) continue;
      const path = resolve(candidate);
      const by = this.#namedOver(path);
      if (by !== undefined) {
        if (!this.isHomeAsked) return undefined;
        return {
          failure: `the home can't be at ${path}: ${by} is mounted there`,
          fix: 'leave out that mount, or use `home: "none"`',
        };
      }
      const isTaken =
        path === "/" ||
        this.own.some((each) => each !== "/tmp" && covers(each, path)) ||
        this.binds.some((each) => each !== "/" && covers(each, path));
      if (isTaken) continue;
      if (!isRootBound) return { path };
      const real = realOf(path); // the mount point has to be there: none can be made in the host's root
      if (real !== undefined && statusOf(real)?.isDirectory()) return { path: real };
    }
    if (!this.isHomeAsked) return undefined;
    return {
      failure: "there is no place for a home: roBinds shows all of the host, which has none",
      fix: 'create the directory that HOME names, or use `home: "none"`',
    };
  }

  /** True if commands may write there. A private /tmp is empty: only the directory itself is there. */
  isWritable(path: string): boolean {
    return this.writable.some((each) => (this.isByRules ? covers(each, path) : each === path));
  }

  /** Where caches are looked for. */
  cacheSearch(env: Env, inside: string): CacheSearch {
    const taken = [...this.workspace, ...this.shifts.map(({ host }) => realOf(host) ?? host)];
    return { caches: this.caches, home: hostHome(env), inside, env, taken };
  }

  /** Where the caller's mounts are inside. */
  get mounted(): string[] {
    return this.shifts.map(({ inside }) => inside);
  }

  /** Paths that are shown at the same place. */
  bound(): string[] {
    const same = this.shifts.filter(({ host, inside }) => host === inside);
    return [...this.binds.filter((each) => stampOf(each) !== ""), ...same.map(({ host }) => host)];
  }

  /** The path inside of one in the workspace or in a mount; undefined: it is in neither, or bound at its own place. */
  shifted(path: string): string | undefined {
    const nearest = this.#places.find(({ host }) => covers(host, path));
    if (nearest?.inside === undefined) return undefined;
    return join(nearest.inside, relative(nearest.host, path));
  }
}

/** The last searches, by what they looked for: runners of one process nearly always look for the same. */
const searches = new Map<string, Found>();
const kMostSearches = 16;

const isCurrent = ({ stamps }: Pick<Found, "stamps">) => {
  for (const [path, stamp] of stamps) if (stampOf(path) !== stamp) return false;
  return true;
};

function found(search: Search): Found {
  const key = JSON.stringify({ ...search, uid: process.geteuid?.() });
  const known = searches.get(key);
  if (known !== undefined && isCurrent(known)) return known;
  const made = findTools(search);
  searches.delete(key);
  searches.set(key, made);
  for (const old of searches.keys()) {
    if (searches.size <= kMostSearches) break;
    searches.delete(old);
  }
  return made;
}

/** The texts of the user's git configuration, in git's order. */
function gitConfigFiles(env: Env, home: string): string[] {
  if (env.GIT_CONFIG_GLOBAL !== undefined) return [env.GIT_CONFIG_GLOBAL];
  const settings = env.XDG_CONFIG_HOME || join(home, ".config");
  return [join(settings, "git/config"), join(home, ".gitconfig")];
}

function textOf(file: string): string {
  try {
    const status = statusOf(file);
    if (!status?.isFile() || status.size > kMostGitConfig) return "";
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Names of variables that decide what is found, apart from PATH and HOME. */
const kDeciding: readonly string[] = [
  ...kReadVariables,
  ...kToolchainVariables,
  ...kCertificateVariables,
  ...kWritableVariables,
  "CONDA_ROOT",
  "GIT_CONFIG_GLOBAL",
];

const deciding = new Set(kDeciding);

/** The variables that name where version managers are, for those that are shown. */
function rootVariables({ tools }: Found): Record<string, string> {
  const named: Record<string, string> = {};
  for (const { name, root } of tools) {
    const layout = kToolLayouts.find((each) => each.name === name);
    for (const place of layout?.roots ?? []) {
      const variable = place.slice(1);
      if (place.startsWith("$") && kReadVariables.includes(variable)) named[variable] = root;
    }
  }
  return named;
}

/** The variables, user and files that a view was made from. */
type Basis = {
  env: string;
  uid: number | undefined;
  stamps: PathStampsHandle;
  /** Mount points that did not answer. */
  silent: readonly string[];
};

/** The home of a transaction's commands, and the caches that they share in it. */
export type TransactionHome = {
  /** The path of the home, which is made on first use. */
  directory: string;
  /** The caches that were found when it was opened, which its commands share; undefined: none were asked for. */
  caches: FoundCaches | undefined;
};

/** Each command would have caches of its own, which is not what `caches` promises in a transaction. */
const kNoSharedCaches: NativeHomeView = {
  failure: "caches can't be shown: the transaction was opened by a runner without them",
  fix: "leave out `caches`, or name the caches there too",
};

/**
 * Variables in another root file system, where the host's PATH and shell mean nothing. A home is the runner's to give, so an
 * image's HOME is not taken.
 */
function variablesOfRoot(root: SandboxRoot, image: Record<string, string>): Record<string, string> {
  const { HOME: _, ...env } = "image" in root && root.env === true ? image : {};
  return { PATH: kRootPath, ...env };
}

/** Keeps a runner's view. */
export class HomeSource {
  readonly #options: HomeOptions;
  #image: RootImage | undefined;
  #shape: Shape | undefined;
  #basis: Basis | undefined;
  #view: NativeHomeView | undefined;
  #text = "";
  readonly #ofTransaction: TransactionHome | undefined;

  /**
   * @param options the runner's own copy; read on first use.
   * @param ofTransaction present where commands work in a transaction.
   */
  constructor(options: HomeOptions, ofTransaction?: TransactionHome) {
    this.#options = options;
    this.#ofTransaction = ofTransaction;
  }

  /** Unpacks the image of `root`; see {@link RootImage}. */
  ready(hasWaited: boolean): Promise<void> | undefined {
    const { root } = this.#options;
    if (root === undefined || !("image" in root)) return undefined;
    this.#image ??= RootImage.of(root);
    return this.#image.ready(this, hasWaited);
  }

  /** Gives the image of `root` back, which may be pruned then: no sandbox is made any more. */
  async release(): Promise<void> {
    await this.#image?.release(this);
  }

  /**
   * The view for a sandbox that is made now: the same object as long as it is the same.
   * @throws if the addon is missing; a runner without it has no view.
   */
  current(): NativeHomeView {
    const env = process.env;
    const basis = this.#basis;
    const key = this.#keyOf(env);
    const uid = process.geteuid?.();
    const isLike = basis !== undefined && key === basis.env && uid === basis.uid;
    if (this.#view && isLike && areStillSilent(basis.silent) && basis.stamps.areSame())
      return this.#view;
    const silent = findSilentMounts();
    const shape = this.#shapeNow(silent);
    const stamps = new Map<string, string>();
    const view = this.#make(shape, env, stamps);
    const answering = [...stamps.keys()].filter((path) => !isSilent(path));
    const state = new (loadAddon().PathStamps)(answering);
    // What changed during the search is looked for again.
    const isSettled = view.failure === undefined && isCurrent({ stamps });
    this.#basis = isSettled ? { env: key, uid, stamps: state, silent } : undefined;
    const text = JSON.stringify(view);
    if (this.#view === undefined || text !== this.#text) {
      this.#text = text;
      this.#view = view;
    }
    return this.#view;
  }

  /** What is found now, also without the addon; undefined: no tools are shown. Makes nothing. */
  found(): Found | undefined {
    const shape = this.#shapeNow(findSilentMounts());
    const home = shape.placeOf(process.env);
    const path = home !== undefined && "path" in home ? home.path : undefined;
    return shape.showsTools
      ? new Inside(shape, path, hostHome(process.env)).find(process.env)
      : undefined;
  }

  /** The caches that are found now, also without the addon, and the home inside; undefined: none are asked for. */
  caches(): { found: FoundCaches; home: string } | undefined {
    if ((this.#options.caches ?? "none") === "none") return undefined;
    const shape = this.#shapeNow(findSilentMounts());
    const home = shape.placeOf(process.env);
    if (home === undefined || "failure" in home) return undefined;
    const search = shape.cacheSearch(process.env, home.path);
    return { found: findCaches(search, new HostLook()), home: home.path };
  }

  /** It is kept unless something is silent: then the workspace's real path may not be known. */
  #shapeNow(silent: readonly string[]): Shape {
    const shape = this.#shape ?? new Shape(this.#options);
    if (silent.length === 0) this.#shape = shape;
    return shape;
  }

  #keyOf(env: Env): string {
    let key = `${env.HOME}\n${env.PATH}`;
    for (const name of Object.keys(env)) {
      if (deciding.has(name)) key += `\n${name}=${env[name]}`;
    }
    return key;
  }

  #make(shape: Shape, env: Env, stamps: Map<string, string>): NativeHomeView {
    const image = this.#imageOf(shape);
    if (image !== undefined && "failure" in image) return image;
    const home = shape.placeOf(env);
    if (home !== undefined && "failure" in home) return home;
    const isWithout = this.#ofTransaction !== undefined && this.#ofTransaction.caches === undefined;
    if (shape.caches !== "none" && isWithout) return kNoSharedCaches;
    const view: NativeHomeView = { ...(home && { path: home.path }) };
    if (image !== undefined) view.root = image.directory;
    if (home !== undefined || (shape.isByRules && shape.home !== "none")) {
      const failure = this.#furnish(shape, env, view, stamps);
      if (failure !== undefined) return failure;
    }
    const inside = new Inside(shape, view.path, hostHome(env));
    const replaced: Record<string, string> = {};
    if (shape.showsTools) {
      const found = inside.find(env);
      for (const [path, stamp] of found.stamps) stamps.set(path, stamp);
      view.shown = [...inside.shown];
      const hidden = found.leftOut.filter(({ why }) => why !== kNoDirectory);
      view.hidden = hidden.map(({ path, why }) => ({ path, why: why === kExcluded ? "" : why }));
      if (env.PATH !== undefined) replaced.PATH = inside.path(env.PATH);
      // Version managers look for their own below HOME, which is elsewhere.
      if (shape.isByRules && shape.home !== "none") view.added = rootVariables(found);
    }
    const look = new HostLook();
    if (shape.root === undefined) {
      const links = inside.links();
      for (const path of pathsOf(links, look)) stamps.set(path, look.stamp(path));
      const followed = leadingOut(links, look);
      if (followed.length > 0) view.followed = followed;
      if (shape.home === "none" && !shape.showsTools) return view; // variables pass as they are
    }
    const dropped: string[] = [];
    for (const name of kDeciding) {
      const value = env[name];
      if (value === undefined || !isAbsolute(value)) continue;
      const fitting = inside.variable(name, value);
      if (fitting === undefined) dropped.push(name);
      else if (fitting !== value) replaced[name] = fitting;
    }
    Object.assign(replaced, this.#addCaches(shape, env, view, look, stamps));
    if (shape.root !== undefined) {
      view.added = variablesOfRoot(shape.root, image?.config.env ?? {});
      Object.assign(replaced, { SHELL: "/bin/sh" }, view.added);
    }
    if (Object.keys(replaced).length > 0) view.replaced = replaced;
    const gone = dropped.filter((name) => replaced[name] === undefined);
    if (gone.length > 0) view.dropped = gone;
    const link = home && inside.link(passwdHome());
    if (link) view.link = link;
    return view;
  }

  #imageOf({ root }: Shape): RootOfImage | undefined {
    if (root === undefined || !("image" in root)) return undefined;
    return (this.#image ?? RootImage.of(root)).state;
  }

  /** Adds the caches to the view; returns the variables by which tools find them. */
  #addCaches(
    shape: Shape,
    env: Env,
    view: NativeHomeView,
    look: HostLook,
    stamps: Map<string, string>,
  ): Record<string, string> {
    if (view.path === undefined || shape.caches === "none") return {};
    const shared = this.#ofTransaction?.caches;
    const found = shared ?? findCaches(shape.cacheSearch(env, view.path), look);
    const names = new Set<string>(layoutsOf(shape.caches).map(({ name }) => name));
    const caches = found.caches.filter(({ name }) => names.has(name));
    if (shared === undefined) for (const path of found.watched) stamps.set(path, stampOf(path));
    if (caches.length > 0) view.caches = caches;
    return found.variables;
  }

  /** Git refuses a repository of another owner, which is nobody inside; in the sandbox it can do no harm. */
  #safeDirectories({ workspace: [workspace = ""], workspaceInside }: Shape): string {
    const owner = statusOf(workspace)?.uid;
    if (owner === undefined || owner === process.geteuid?.()) return "";
    const inside = gitConfigQuoted(workspaceInside);
    return `[safe]\n\tdirectory = ${inside}\n\tdirectory = ${gitConfigQuoted(`${workspaceInside}/*`)}\n`;
  }

  /** Adds what the home itself is, and its ~/.gitconfig; returns a view that says why it can't be had. */
  #furnish(
    shape: Shape,
    env: Env,
    view: NativeHomeView,
    stamps: Map<string, string>,
  ): NativeHomeView | undefined {
    const { home, workspace } = shape;
    const place = { home, workspace, ofTransaction: this.#ofTransaction?.directory };
    const own = homeDirectoryOf(place);
    if (own !== undefined && "failure" in own) return own;
    const files = gitConfigFiles(env, hostHome(env));
    for (const file of files) stamps.set(file, stampOf(file));
    const text = harmlessGitConfig(files.map(textOf)) + this.#safeDirectories(shape);
    if (own === undefined) {
      if (text !== "") view.gitConfig = text;
      if (!shape.isByRules) return undefined;
      const made = privateHomes([...workspace, ...shape.binds, ...shape.writable]);
      if ("failure" in made) return made;
      view.homes = made.homes;
      return undefined;
    }
    if (shape.isByRules) view.path = own.directory;
    view.directory = own.directory;
    if (own.caches !== undefined) view.keptCaches = own.caches;
    putGitConfig(own, text);
    if (own.watched !== undefined) stamps.set(own.watched, stampOf(own.watched));
    return undefined;
  }
}

/** The inside of a sandbox, as far as paths go. */
class Inside {
  readonly #shape: Shape;
  readonly #home: string | undefined;
  readonly #hostHome: string;
  readonly #bound: readonly string[];
  #found: Found | undefined;

  constructor(shape: Shape, home: string | undefined, hostHome: string) {
    this.#shape = shape;
    this.#home = home;
    this.#hostHome = hostHome;
    this.#bound = shape.bound();
  }

  get shown() {
    const { workspace } = this.#shape;
    // The workspace is shown at its own place, and may be writable there.
    return (this.#found?.shown ?? []).filter(
      ({ source }) => !workspace.some((each) => covers(source, each) || covers(each, source)),
    );
  }

  find(env: Env): Found {
    const { paths, exclude } = this.#shape;
    this.#found = found({
      path: entriesOf(env.PATH).filter((each) => this.#shape.shifted(each) === undefined),
      paths,
      exclude: exclude.map((each) => resolve(each)),
      home: this.#hostHome,
      env: Object.fromEntries(Object.entries(env).filter(([name]) => deciding.has(name))),
      bound: this.#bound,
      own: this.#shape.own,
      named: [...kToolchainVariables, ...kCertificateVariables].flatMap((name) => {
        const value = env[name];
        return value !== undefined && isAbsolute(value) ? [resolve(value)] : [];
      }),
    });
    return this.#found;
  }

  /** The links of the system that may lead out of what is bound. */
  links(): LinkSearch {
    const home = this.#home === undefined ? [] : [this.#home];
    return {
      ...systemLinks(this.#shape.hasNetwork),
      bound: [...this.#bound, ...this.shown.map(({ target }) => target)],
      taken: [
        ...this.#shape.own,
        ...home,
        this.#hostHome,
        ...this.#shape.workspace,
        ...this.#shape.mounted,
      ],
    };
  }

  #isThere(path: string): boolean {
    return (
      this.#bound.some((each) => covers(each, path)) ||
      this.shown.some(({ target }) => covers(target, path) || covers(path, target))
    );
  }

  /** The host's PATH as it is inside; relative entries stay. */
  path(text: string): string {
    const entries = text.split(delimiter).flatMap((entry) => {
      if (!isAbsolute(entry)) return [entry];
      const at = resolve(entry);
      const shifted = this.#shape.shifted(at);
      if (shifted !== undefined) return [shifted];
      const named = this.#found?.path.get(at);
      return named === undefined ? [] : [named];
    });
    return [...new Set(entries)].join(delimiter);
  }

  /** The value of a variable inside; undefined: it names what is not there. */
  variable(name: string, value: string): string | undefined {
    const path = resolve(value);
    const shifted = this.#shape.shifted(path);
    if (shifted !== undefined) return shifted;
    const isInHome = this.#home !== undefined && covers(this.#home, path);
    if (kWritableVariables.includes(name)) {
      return isInHome || this.#shape.isWritable(path) ? value : undefined;
    }
    if (kReadVariables.includes(name) && isInHome) return value;
    return this.#isThere(path) ? value : undefined;
  }

  /** The home by the list of users, if a link there can lead to a home elsewhere. */
  link(path: string): string | undefined {
    const home = this.#home;
    if (home === undefined || !isAbsolute(path) || path === home || path === "/") return undefined;
    const taken = [
      home,
      ...this.#shape.own,
      ...this.#shape.binds,
      ...this.#shape.shifts.map(({ inside }) => inside),
      ...this.shown.map(({ target }) => target),
    ];
    const meets = taken.some((each) => covers(each, path) || covers(path, each));
    return meets || statusOf(path) === undefined ? undefined : path;
  }
}

function entriesOf(path: string | undefined): string[] {
  const entries = (path ?? "").split(delimiter).filter(isAbsolute);
  return [...new Set(entries.map((entry) => resolve(entry)))];
}

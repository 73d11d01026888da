/**
 * What each runtime keeps, at its defaults and with network "deny": the one source of what the tests
 * expect and of the matrix in docs/sandboxing.md, which `vitest run --project unit docs -u` writes
 * there. What is not kept is shown not to be, so that a promise which comes to hold is noticed.
 */

import type { RuntimeName } from "../../../lib/index.js";

/** A layer by its name in the audit, or the least version of Landlock's interface. */
export type Need = "pid-namespace" | "landlock-scope" | `Landlock ABI ${number}`;

/** Whether a runtime keeps a promise. */
export type Keeping =
  /** `needs`: one of these must be in force. `note`: what a reader must know. */
  { is: "kept"; needs?: readonly Need[]; note?: string } | { is: "not"; why: string };

const kept = (note = ""): Keeping => ({ is: "kept", note });
const keptWith = (needs: readonly Need[], note = ""): Keeping => ({ is: "kept", needs, note });
const not = (why = ""): Keeping => ({ is: "not", why });

const kSockets = "no `socket(2)` at all";

type Row = { title: string } & Readonly<Record<RuntimeName, Keeping>>;

const kRows = {
  "read-outside": {
    title: "files outside can't be read",
    bubblewrap: kept("not mounted, but `roBinds`"),
    landlock: kept("but `fsReadDirs`"),
    firejail: kept("but `fsReadDirs`"),
    native: not(),
  },
  "see-outside": {
    title: "names, sizes and times outside can't be seen",
    bubblewrap: kept(),
    landlock: not("paths can be asked for; directories can't be listed, but watched (inotify)"),
    firejail: kept(),
    native: not(),
  },
  "see-root": {
    title: "… nor that `/home` or `/var` are there",
    bubblewrap: kept(),
    landlock: not("names in `/` can be seen"),
    firejail: not("names in `/` can be seen, nothing below them"),
    native: not(),
  },
  "private-tmp": {
    title: "private `/tmp`",
    bubblewrap: kept("memory, gone with the run"),
    landlock: not("the host's, unless other `fsReadDirs` and `fsWriteDirs` are named"),
    firejail: kept("memory, gone with the run"),
    native: not(),
  },
  "root-secrets": {
    title: "root's secrets can't be read, as root",
    bubblewrap: kept("a [list](security/host.md#as-root) is masked"),
    landlock: kept("the same list is left out"),
    firejail: kept("the same list is hidden"),
    native: not(),
  },
  "write-outside": {
    title: "files outside can't be written, made, removed",
    bubblewrap: kept(),
    landlock: kept("but `fsWriteDirs`"),
    firejail: kept("but `fsWriteDirs`"),
    native: not(),
  },
  "truncate-outside": {
    title: "… nor truncated",
    bubblewrap: kept(),
    landlock: keptWith(["Landlock ABI 3"], "Linux 6.2"),
    firejail: kept(),
    native: not(),
  },
  "change-outside": {
    title: "modes, times and attributes outside can't be changed",
    bubblewrap: kept(),
    landlock: not("those of the user's own files can be"),
    firejail: kept(),
    native: not(),
  },
  devices: {
    title: "the host's devices can't be opened",
    bubblewrap: kept("a minimal `/dev`"),
    landlock: kept("but `null`, `zero`, `full`, `random`, `urandom`, `tty`"),
    firejail: kept("a minimal `/dev`"),
    native: not(),
  },
  "read-processes": {
    title: "host processes can't be listed or looked into",
    bubblewrap: kept("own `/proc`"),
    landlock: kept("`/proc` can't be read"),
    firejail: kept("own pid namespace"),
    native: not(),
  },
  "signal-processes": {
    title: "host processes can't be signalled",
    bubblewrap: kept(),
    landlock: keptWith(["pid-namespace", "landlock-scope"], "Linux 6.12"),
    firejail: kept(),
    native: not(),
  },
  "no-privileges": {
    title: "no capabilities, no_new_privs, seccomp",
    bubblewrap: kept(),
    landlock: kept(),
    firejail: kept("checked and set by our launcher"),
    native: not(),
  },
  "pid-namespace": {
    title: "own pid namespace",
    bubblewrap: kept(),
    landlock: keptWith(["pid-namespace"], "root, or user namespaces"),
    firejail: kept(),
    native: not(),
  },
  "ipc-namespace": {
    title: "own IPC namespace",
    bubblewrap: kept(),
    landlock: keptWith(["pid-namespace"], "comes with it"),
    firejail: kept(),
    native: not(),
  },
  "mount-namespace": {
    title: "own mount namespace",
    bubblewrap: kept(),
    landlock: not(),
    firejail: kept(),
    native: not(),
  },
  "uts-namespace": {
    title: "own UTS namespace",
    bubblewrap: kept(),
    landlock: not("the host's name can be read"),
    firejail: kept(),
    native: not(),
  },
  "cgroup-namespace": {
    title: "own cgroup namespace",
    bubblewrap: kept(),
    landlock: not(),
    firejail: not(),
    native: not(),
  },
  "network-namespace": {
    title: "own network namespace",
    bubblewrap: kept(),
    landlock: not(`${kSockets} instead`),
    firejail: kept(),
    native: not(),
  },
  "own-loopback": {
    title: "servers and clients inside work",
    bubblewrap: kept("a loopback of its own"),
    landlock: not(kSockets),
    firejail: kept("a loopback of its own"),
    native: kept("the host's loopback"),
  },
  "no-network": {
    title: "no network: TCP, UDP, the host's loopback",
    bubblewrap: kept(),
    landlock: kept(kSockets),
    firejail: kept(),
    native: not(),
  },
  "no-abstract-sockets": {
    title: "no abstract UNIX sockets of the host",
    bubblewrap: kept(),
    landlock: kept(kSockets),
    firejail: kept(),
    native: not(),
  },
  "no-sockets-outside": {
    title: "no UNIX sockets with a path, outside",
    bubblewrap: kept("but below `roBinds`"),
    landlock: kept(kSockets),
    firejail: kept("but below `fsReadDirs`"),
    native: not(),
  },
  "no-sockets-inside": {
    title: "… nor in the workspace",
    bubblewrap: not("don't keep any there"),
    landlock: kept(kSockets),
    firejail: not("don't keep any there"),
    native: not(),
  },
  "nothing-survives": {
    title: "nothing outlives the run",
    bubblewrap: kept("pid namespace"),
    landlock: kept("pid namespace, else a subreaper"),
    firejail: kept("subreaper, in a pid namespace"),
    native: kept("subreaper"),
  },
} as const satisfies Record<string, Row>;

/** The promises by name. */
export type PromiseName = keyof typeof kRows;

export const kMatrix: Readonly<Record<PromiseName, Row>> = kRows;

export const kPromiseNames = Object.keys(kRows) as PromiseName[];

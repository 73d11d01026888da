/**
 * The options of runners, each described once. The checks of the configuration, of a worker's policy and of its
 * callers, the narrowing, the flags of the command line and the tables of docs/options.md are made from these rows. Plain
 * data and what reads it: lib/option-schemas.ts makes the schemas, and scripts/checks/options-table.mjs loads this file by
 * itself, so it imports only types.
 */

import type {
  BubblewrapNativeRunnerOptions,
  FirejailNativeRunnerOptions,
  InTransaction,
  LandlockNativeRunnerOptions,
  NativeMount,
  RunnerOptions,
} from "../types/public.js";

/** A text: any, an absolute path, or a program's name or path. */
export type TextValue = { kind: "text" | "path" | "program" };
/** Items of a list: absolute paths, arguments, names of layers, or these words. */
export type ListValue = { kind: "list"; of: "path" | "text" | "name" | readonly string[] };
/** One of some words. */
export type WordValue<Word extends string = string> = { kind: "word"; words: readonly Word[] };
/** A safe integer in a range. */
export type CountValue = { kind: "count"; least: number; most?: number };

/** The values that an option takes. Those of kind "object" are used as they are, and can't be written in JSON. */
export type OptionValue =
  | {
      kind:
        | "flag"
        | "mounts"
        | "network"
        | "environment"
        | "home"
        | "tools"
        | "caches"
        | "root"
        | "object";
    }
  | TextValue
  | ListValue
  | WordValue
  | CountValue;

/** The values that fit the type of an option. */
type ValueFor<Type> = [Type] extends [boolean]
  ? { kind: "flag" }
  : [Type] extends [number]
    ? CountValue
    : [Type] extends [string]
      ? string extends Type
        ? TextValue
        : WordValue<Type>
      : [Type] extends [readonly NativeMount[]]
        ? { kind: "mounts" }
        : [Type] extends [readonly (infer Item)[]]
          ? string extends Item
            ? { kind: "list"; of: "path" | "text" | "name" }
            : { kind: "list"; of: readonly Item[] }
          : { kind: "network" | "environment" | "home" | "tools" | "caches" | "root" | "object" };

/**
 * The rule by which a caller of a worker may narrow the worker's value. "only": to this value. "union": by adding to
 * the list. "atMost": to a lower number; `unset` is the highest if the policy sets none. "own": by a rule for this option
 * in lib/remote/policy/narrow.ts.
 */
export type Narrowing =
  | { by: "only"; value: string | boolean }
  | { by: "union" }
  | { by: "atMost"; unset?: number }
  | { by: "own" };

/** A place in an order of checks, which decides what error is reported first. Rows without one come last. */
type Checked = { at?: number };

/** One option. */
export type OptionRow<Type = unknown, Value = OptionValue> = {
  value: Value;
  /** The value that applies if it is left out. Absent: none, or it depends on the host. */
  default?: Type;
  /** For lists of paths: the paths that apply if it is left out. Those that the host lacks are then skipped. */
  paths?: readonly string[];
  /** The sentence in docs/options.md. */
  doc: string;
  /** The default as docs/options.md shows it, if it does not show `default` or `paths`. */
  shown?: string;
  /** Present if it is a key of the configuration, in the section of the runtime; with another `default` there. */
  config?: Checked & { default?: unknown };
  /** Present if a worker's policy has it. `isAsked`: `RemoteNativeRunner` has it too. */
  worker?: Checked & Narrowing & { isAsked?: true };
  /**
   * Present if the command line has it. `replaces`: the flag's value takes the place of the configuration's, which
   * needs no code besides this row; others are merged by lib/cli/policy.ts.
   */
  flag?: { syntax: string; help: string; replaces?: true };
};

/** Rows by the names of options. */
export type OptionRows = Readonly<Record<string, OptionRow>>;

/** One row for each option of a type. An option without a row does not compile. */
type RowsFor<Options> = {
  readonly [Name in keyof Required<Options>]: OptionRow<
    NonNullable<Options[Name]>,
    ValueFor<NonNullable<Options[Name]>>
  >;
};

/** The names that the option `caches` knows; lib/home/cache-layouts.ts says what they are. */
export const kCacheNames = [
  "npm",
  "pnpm",
  "yarn",
  "bun",
  "deno",
  "pip",
  "uv",
  "cargo",
  "go",
  "maven",
  "gradle",
  "ccache",
  "sccache",
  "composer",
  "nuget",
] as const;
export type CacheName = (typeof kCacheNames)[number];

/** The families that the option `devices` knows; native/policy/options/devices.cpp says what they are. */
export const kDeviceFamilies = ["nvidia", "dri", "kfd", "kvm", "fuse", "tun"] as const;

const paths = (...list: string[]): readonly string[] => Object.freeze(list);
const kNone: readonly never[] = Object.freeze([]);

/** Options of all runners. */
export const kEveryRunner = {
  shadowDir: {
    value: { kind: "text" },
    shown: "required",
    doc: "the workspace on the host. It must be a directory when a run starts. The host's own tools use its files by [`runner.files`](files.md)",
  },
  workspaceIsRoot: {
    value: { kind: "flag" },
    default: false,
    doc: "agrees to a `shadowDir` that is the host's root directory, which is an error otherwise",
  },
  envPolicy: {
    value: { kind: "environment" },
    default: "scrub",
    doc: 'which of the host\'s variables pass: `"scrub"`, `"inherit"`, `"clean"` or an array of names; see [Environment](environment.md)',
    worker: { by: "own", at: 3, isAsked: true },
    flag: {
      syntax: "--env-policy <policy>",
      help: "host variables that pass: scrub (no secrets), inherit, clean or NAME,NAME",
    },
  },
  maxConcurrent: {
    value: { kind: "count", least: 1 },
    shown: "max(8, 4 x CPUs)",
    doc: "how many runs are in flight at once; the others wait in order. A runner that names it has a lane of its own, the others share one lane per Node environment",
  },
  auditLog: {
    value: { kind: "object" },
    doc: "an [`AuditLog`](observability/audit-log.md), where all runs are recorded, sessions, and what is done with transactions",
  },
} as const satisfies RowsFor<RunnerOptions>;

/** The option of runners whose commands can work in a transaction: all but Firejail's. */
export const kInTransaction = {
  transaction: {
    value: { kind: "object" },
    doc: "an open transaction of the same workspace, in which commands work; see [other runners in a transaction](transactions/runners.md)",
  },
} as const satisfies RowsFor<InTransaction>;

/** Options of runners that confine; in the configuration they are outside the sections. */
export const kConfining = {
  network: {
    value: { kind: "network" },
    default: "deny",
    doc: '`"deny"`: a private loopback only (with Landlock no sockets at all); `"allow"`: the host\'s network; with Bubblewrap also `{ allow, deny, allowPrivate, hostPorts, presets, onRequest, secrets, http }`: [what may be reached by name](network.md), [services of the host](network.md#services-of-the-host), [tokens that never enter](secrets.md)',
    config: {},
    worker: { by: "own", at: 1, isAsked: true },
    flag: { syntax: "--network <mode>", help: "deny (the default): a private loopback only" },
  },
  required: {
    value: { kind: "list", of: "name" },
    default: kNone,
    doc: "names of layers that must be in force; if one is not, the outcome is `setup-failed` and names it",
    config: {},
    worker: { by: "union", at: 5, isAsked: true },
  },
} as const satisfies RowsFor<Pick<BubblewrapNativeRunnerOptions, "network" | "required">>;

type Common = keyof RunnerOptions | keyof InTransaction | keyof typeof kConfining;

/** Options of Bubblewrap's runner alone. */
export const kBubblewrap = {
  roBinds: {
    value: { kind: "list", of: "path" },
    paths: paths("/usr", "/bin", "/lib", "/lib64", "/etc"),
    doc: "absolute paths, mounted read-only at the same place. A default that the host lacks is skipped; one that you name must exist",
    config: { at: 2, default: paths("/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin") },
    worker: { by: "own", at: 2, isAsked: true },
    flag: {
      syntax: "--ro-bind <path>",
      help: "mount a host path read-only, too; repeatable",
    },
  },
  root: {
    value: { kind: "root" },
    shown: "the host's, by `roBinds`",
    doc: "another root file system in the place of the host's: `{ directory }`, one that is unpacked, or `{ image, tag, env }`, a container image; see [Root file systems](root-file-systems.md)",
    config: {},
    worker: { by: "own", at: 2 },
    flag: {
      syntax: "--root <dir>",
      help: "a directory with another root file system, in the place of the host's",
      replaces: true,
    },
  },
  mounts: {
    value: { kind: "mounts" },
    default: kNone,
    doc: "further host paths, read-only or writable, at a place of your choice; see [mounts](#mounts)",
    config: { at: 2 },
    worker: { by: "own", at: 2, isAsked: true },
    flag: {
      syntax: "--mount <host[:guest][:mode]>",
      help: "mount a host path, there and as ro (the default) or rw; repeatable",
    },
  },
  devices: {
    value: { kind: "list", of: "text" },
    default: kNone,
    doc: 'character devices of the host that commands may use, and no others: paths below `/dev`, and names of families such as `"dri"`, `"kvm"` or `"nvidia"`; see [Devices](devices.md)',
    config: { default: undefined },
    worker: { by: "own", at: 7, isAsked: true },
    flag: {
      syntax: "--device <device>",
      help: "let commands use a device of the host: a path below /dev, nvidia, nvidia:N, dri, kfd, kvm, fuse or tun; repeatable",
    },
  },
  workspacePath: {
    value: { kind: "word", words: ["/workspace", "same"] },
    default: "/workspace",
    doc: 'where commands see the workspace: `"/workspace"`, or `"same"`: at the path of `shadowDir`, so that files which name the project\'s own path work inside and outside (a virtual environment, CMake\'s cache); see [Home and tools](home.md#the-path-of-the-workspace)',
    config: { default: undefined },
    flag: {
      syntax: "--workspace-path <path>",
      help: "where commands see it: /workspace (the default), or same: at its own path",
      replaces: true,
    },
  },
  home: {
    value: { kind: "home" },
    default: "private",
    doc: 'the home of commands: `"private"`, an empty one of each sandbox\'s own; `"kept"`, one that is kept for the workspace; `{ directory }` or `"none"`; see [Home and tools](home.md)',
    config: { default: undefined },
    worker: { by: "own", at: 9, isAsked: true },
    flag: {
      syntax: "--home <mode>",
      help: "private (the default): an empty home of its own; kept: one for this workspace; none; or a directory",
      replaces: true,
    },
  },
  tools: {
    value: { kind: "tools" },
    shown: '`"host"` if `roBinds` and `root` are left out, else `"none"`',
    doc: 'the host\'s tools that commands find: `"none"`, `"host"` or `{ paths, exclude }`; see [Home and tools](home.md)',
    config: {},
    worker: { by: "only", value: "none", at: 9, isAsked: true },
    flag: {
      syntax: "--tools <mode>",
      help: "host: those of the host's PATH, read-only; none",
      replaces: true,
    },
  },
  caches: {
    value: { kind: "caches" },
    default: "none",
    doc: 'the host\'s package caches that commands find, copy-on-write: `"none"`, `"host"` or a list of names; see [Home and tools](home.md#the-hosts-package-caches)',
    config: { default: undefined },
    worker: { by: "own", at: 9, isAsked: true },
    flag: {
      syntax: "--caches <names>",
      help: "the host's package caches, copy-on-write: host (all), none (the default), or NAME,NAME",
      replaces: true,
    },
  },
  isolation: {
    value: { kind: "word", words: ["strict", "compat"] },
    default: "strict",
    doc: "`\"compat\"` uses only bwrap's classic flags, for hosts where the strict ones can't work; see [compat mode](security/runtimes.md#compat-mode)",
    config: {},
    worker: { by: "only", value: "strict", at: 4, isAsked: true },
    flag: {
      syntax: "--isolation <mode>",
      help: "strict (the default): all layers; compat: the classic flags only",
      replaces: true,
    },
  },
  layers: {
    value: { kind: "list", of: ["landlock"] },
    default: kNone,
    doc: '`["landlock"]` puts a second wall inside the sandbox; the kernel enforces it without mounts',
    config: {},
    worker: { by: "union", at: 4, isAsked: true },
  },
  extraArgs: {
    value: { kind: "list", of: "text" },
    default: kNone,
    doc: "further options of bwrap, passed on as they are, after our mounts; unknown ones are refused. A layer that one of them undoes leaves the record's `layers`, which then have `opened:<option>`; see [extra options](security.md#extra-options)",
    config: { at: 4 },
  },
  devBind: {
    value: { kind: "flag" },
    default: true,
    doc: "a minimal `/dev`",
    config: { at: 3 },
    worker: { by: "only", value: false, at: 7, isAsked: true },
  },
  procBind: {
    value: { kind: "flag" },
    default: true,
    doc: 'a private `/proc`. Without it the launcher is a read-only file of the sandbox; this needs a bwrap that has `--perms`, and works neither with `isolation: "compat"` nor with `/` among `roBinds`',
    config: { at: 3 },
    worker: { by: "only", value: false, at: 7, isAsked: true },
  },
  allowWriteWorkspace: {
    value: { kind: "flag" },
    default: true,
    doc: "`false` mounts the workspace read-only; [`runner.files`](files.md) then writes nothing either",
    config: { at: 3 },
    worker: { by: "only", value: false, at: 6, isAsked: true },
  },
  bwrapPath: {
    value: { kind: "program" },
    default: "bwrap",
    doc: "a name that is looked up on the host's PATH, or an absolute path",
    config: { at: 1 },
    flag: {
      syntax: "--bwrap <path>",
      help: "the bwrap program; default: bwrap on PATH",
      replaces: true,
    },
  },
  prewarm: {
    value: { kind: "count", least: 0, most: 64 },
    shown: "a few",
    doc: "how many sandboxes stand ready; 0: none. See [Prewarmed and cloned sandboxes](prewarming.md)",
    worker: { by: "atMost", unset: 4 },
  },
  prewarmIdleMs: {
    value: { kind: "count", least: 1 },
    default: 60_000,
    doc: "milliseconds without a run after which they go away, and the template of clones",
    worker: { by: "atMost" },
  },
  clone: {
    value: { kind: "word", words: ["auto", "never"] },
    default: "auto",
    doc: 'whether runs get sandboxes that are [cloned from a template](prewarming.md#clones); `"never"`: only new ones and prewarmed ones',
    worker: { by: "only", value: "never", at: 8 },
  },
  maxTransactionBytes: {
    value: { kind: "count", least: 1 },
    shown: "none",
    doc: "most bytes that all [transactions](transactions.md) of the workspace in one directory hold on disk together. A warning comes at 80%; beyond it, commands, forks and checkpoints are refused; see [Space](transactions/space.md)",
    config: { default: undefined },
    worker: { by: "atMost" },
  },
} as const satisfies RowsFor<Omit<BubblewrapNativeRunnerOptions, Common>>;

/** Options of Landlock's runner alone. */
export const kLandlock = {
  fsReadDirs: {
    value: { kind: "list", of: "path" },
    paths: paths("/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin", "/tmp"),
    doc: "absolute paths that may be read; `/tmp` is the host's",
    config: {},
  },
  fsWriteDirs: {
    value: { kind: "list", of: "path" },
    paths: paths("/tmp"),
    doc: "absolute paths that may be written",
    config: {},
  },
  allowReadWorkspace: {
    value: { kind: "flag" },
    default: true,
    doc: "whether the workspace may be read, by commands and by [`runner.files`](files.md)",
    config: {},
  },
  allowWriteWorkspace: {
    value: { kind: "flag" },
    default: true,
    doc: "whether it may be written, by both",
    config: {},
  },
  devices: {
    value: { kind: "list", of: "text" },
    default: kNone,
    doc: 'character devices of the host that commands may use, besides those that every program needs: paths below `/dev`, and names of families such as `"dri"` or `"kvm"`, but not `"nvidia"`; see [Devices](devices.md#landlock)',
    config: { default: undefined },
  },
  home: {
    value: { kind: "home" },
    default: "private",
    doc: 'the home of commands: `"private"`, a directory that is made for each run or session and removed after it; `"kept"`, one that is kept for the workspace; `{ directory }` or `"none"`; see [Home and tools](home.md#landlock)',
    config: { default: undefined },
  },
  tools: {
    value: { kind: "tools" },
    shown: '`"host"` if `fsReadDirs` is left out, else `"none"`',
    doc: 'the host\'s tools that commands may read: `"none"`, `"host"` or `{ paths, exclude }`; see [Home and tools](home.md#landlock)',
    config: {},
  },
} as const satisfies RowsFor<Omit<LandlockNativeRunnerOptions, Common>>;

/** Options of Firejail's runner alone. */
export const kFirejail = {
  firejailPath: {
    value: { kind: "program" },
    default: "firejail",
    doc: "a name that is looked up on the host's PATH, or an absolute path",
    config: { at: 1 },
  },
  fsReadDirs: {
    value: { kind: "list", of: "path" },
    paths: paths("/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"),
    doc: "absolute paths that may be read besides the workspace",
    config: {},
  },
  fsWriteDirs: {
    value: { kind: "list", of: "path" },
    default: kNone,
    shown: "none; `/tmp` is private",
    doc: "absolute paths that may be read and written besides the workspace",
    config: {},
  },
  profile: {
    value: { kind: "path" },
    doc: "the absolute path of a Firejail profile that takes the place of both lists",
    config: { at: 2, default: null },
  },
  extraArgs: {
    value: { kind: "list", of: "text" },
    default: kNone,
    doc: "further options of Firejail",
    config: {},
  },
} as const satisfies RowsFor<Omit<FirejailNativeRunnerOptions, Common>>;

type NamesWith<Field extends keyof OptionRow, Rows> = {
  [Name in keyof Rows]: Rows[Name] extends Record<Field, unknown> ? Name : never;
}[keyof Rows] &
  string;

/** Names of options whose row has this field, in the order of their checks. */
export function namesWith<Field extends keyof OptionRow, Rows extends OptionRows>(
  field: Field,
  rows: Rows,
): NamesWith<Field, Rows>[] {
  const placeOf = (name: string) =>
    (rows[name]?.[field] as Checked | undefined)?.at ?? Number.MAX_SAFE_INTEGER;
  const names = Object.keys(rows).filter((name) => rows[name]?.[field] !== undefined);
  return names.sort((one, other) => placeOf(one) - placeOf(other)) as NamesWith<Field, Rows>[];
}

type Completed<Options, Rows> = {
  [Name in keyof Options & keyof Rows]-?: Rows[Name] extends
    | { default: unknown }
    | { paths: unknown }
    ? NonNullable<Options[Name]>
    : Options[Name];
};

/** Returns the options of these rows, with the defaults of those that were left out. */
export function completed<Options extends object, Rows extends OptionRows>(
  options: Options,
  rows: Rows,
): Completed<Options, Rows> {
  const given = options as Readonly<Record<string, unknown>>;
  const all = Object.entries(rows).map(
    ([name, row]) =>
      [name, given[name] === undefined ? (row.default ?? row.paths) : given[name]] as const,
  );
  return Object.fromEntries(all) as Completed<Options, Rows>;
}

/** All options of Bubblewrap's runner but `transaction`. */
export const kAllOfBubblewrap = { ...kEveryRunner, ...kConfining, ...kBubblewrap };

type WorkerRows = typeof kAllOfBubblewrap;

/** Names of the options of a worker's policy. */
export type NarrowableName = NamesWith<"worker", WorkerRows>;

type NamesOf<Rule> = {
  [Name in NarrowableName]: WorkerRows[Name]["worker"] extends Rule ? Name : never;
}[NarrowableName];

/** Those of them that have a rule of their own. */
export type OwnRuleName = NamesOf<{ by: "own" }>;

/** Those of them that a caller of a worker can ask for. */
export type AskedName = NamesOf<{ isAsked: true }>;

/** Those of them that have no default value: undefined leaves the choice to the runner. */
export type UnsetName = Exclude<NarrowableName, NamesWith<"default", WorkerRows>>;

/** Names of the options of a worker's policy, in the order of their checks. */
export const kNarrowable: readonly NarrowableName[] = namesWith("worker", kAllOfBubblewrap);

/** Names of the options that a caller of a worker can ask for, in the same order. */
export const kAsked = kNarrowable.filter(
  (name) => "isAsked" in kAllOfBubblewrap[name].worker,
) as AskedName[];

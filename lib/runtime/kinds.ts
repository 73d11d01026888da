/** The differences between runtimes: how a runner is created, and what its policy grants. Pure. */

import { existsSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";

import type {
  BubblewrapNetwork,
  InTransaction,
  NetworkMode,
  RunnerOptions,
  SandboxTools,
} from "../../types/public.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { FirejailNativeRunner, kDefaultFirejailReadDirs } from "../runners/firejail.js";
import { kDefaultReadDirs, kDefaultWriteDirs, LandlockNativeRunner } from "../runners/landlock.js";
import { LocalNativeRunner } from "../runners/local.js";
import type { RuntimeConfig } from "./config.js";
import { kDefaultRuntimeBinds } from "./config-schema.js";
import type { HostFacts } from "./host-facts.js";
import { firejailFix, landlockFix } from "./host-fixes.js";
import type { RuntimeMount, RuntimeName, RuntimeRunner } from "./runtime.js";

/** Grants of a policy beyond the workspace, which the canary must not take for an escape. */
export type Grants = {
  /** Host paths that commands may read. */
  readable: readonly string[];
  /** Host paths that commands may write. */
  writable: readonly string[];
  /** True if commands have the host's network. */
  network: boolean;
};

/** One kind of runtime. */
export type RuntimeKind = {
  readonly name: RuntimeName;
  /** Display name. */
  readonly title: string;
  /** The package that contains its program; undefined if it needs none. */
  readonly program?: string;
  /** True if it supports a network by domain; otherwise such a configuration is refused. */
  readonly byDomain?: true;
  /** True if commands can have another root file system; otherwise a configuration with one is refused. */
  readonly ownRoot?: true;
  /** Returns the network that commands get. */
  network(config: RuntimeConfig): BubblewrapNetwork;
  /** Returns the part of the configuration that affects availability; equal policies are tested once. */
  policy(config: RuntimeConfig): unknown;
  /** Returns undefined for a runtime that confines nothing. */
  grants(config: RuntimeConfig): Grants | undefined;
  /** @throws TypeError for mounts, or a transaction, that it does not support. */
  makeRunner(
    config: RuntimeConfig,
    options: RunnerOptions & InTransaction,
    mounts: readonly Mount[],
  ): RuntimeRunner;
  /** Returns the fix for a run that could not be set up, where its outcome has none. */
  fix?(reason: string, facts: HostFacts): string | undefined;
};

/** Checks the mounts of a call, and the support of a runtime for them. Pure. */

/** A mount with all fields set. */
export type Mount = { hostPath: string; guestPath: string; mode: "ro" | "rw" };

const kMount: FieldsOf<RuntimeMount> = { hostPath: true, guestPath: true, mode: true };

function checkPath(field: string, path: unknown): string {
  if (typeof path !== "string" || !isAbsolute(path) || path.includes("\0")) {
    throw invalidType(field, "an absolute path", path);
  }
  const plain = normalize(path);
  return plain.length > 1 && plain.endsWith("/") ? plain.slice(0, -1) : plain;
}

/** @throws TypeError naming the field. */
export function checkMounts(mounts: readonly RuntimeMount[] | undefined): Mount[] {
  if (mounts === undefined) return [];
  if (!Array.isArray(mounts)) throw invalidType("mounts", "an array", mounts);
  return mounts.map((mount: RuntimeMount, index) => {
    const field = `mounts[${index}]`;
    expectFields(mount, field, kMount);
    const { mode = "ro" } = mount;
    if (mode !== "ro" && mode !== "rw") throw invalidType(`${field}.mode`, '"ro" or "rw"', mode);
    const hostPath = checkPath(`${field}.hostPath`, mount.hostPath);
    const guestPath = checkPath(`${field}.guestPath`, mount.guestPath ?? hostPath);
    return { hostPath, guestPath, mode };
  });
}

/** @throws TypeError for a mount whose guest path differs from its host path. */
function samePlace(mounts: readonly Mount[], runtime: string): readonly Mount[] {
  for (const { hostPath, guestPath } of mounts) {
    if (hostPath === guestPath) continue;
    throw invalidValue(
      `${runtime} can't show ${hostPath} at ${guestPath}: its paths are the host's`,
    );
  }
  return mounts;
}

/** Returns the host paths of the mounts with this mode. */
function hostPaths(mounts: readonly Mount[], mode: Mount["mode"]): string[] {
  return mounts.filter((mount) => mount.mode === mode).map((mount) => mount.hostPath);
}

/** For a runtime that supports modes only; rules, which it refuses earlier, count as no network. */
function modeOf(network: BubblewrapNetwork): NetworkMode {
  return network === "allow" ? "allow" : "deny";
}

/**
 * Returns the list, or undefined if it equals the default: a runner skips default paths that the host lacks,
 * and requires named ones.
 */
export function unlessDefault(
  list: readonly string[],
  defaults: readonly string[],
): readonly string[] | undefined {
  const same = list.length === defaults.length && list.every((item, at) => item === defaults[at]);
  return same ? undefined : list;
}

/**
 * Returns the list with further paths: since all must then exist, default paths that the host lacks are
 * removed.
 */
function extended(
  list: readonly string[],
  defaults: readonly string[],
  more: readonly string[],
): readonly string[] | undefined {
  const named = unlessDefault(list, defaults);
  if (more.length === 0) return named;
  return [...(named ?? defaults.filter((path) => existsSync(path))), ...more];
}

const networkOf = (config: RuntimeConfig) => config.bubblewrap.network ?? config.network;

/** With a root of its own a runner refuses binds and tools, which are then passed on only if they are named. */
function systemOf({ bubblewrap }: RuntimeConfig) {
  const named = unlessDefault(bubblewrap.roBinds, kDefaultRuntimeBinds);
  if (bubblewrap.root !== undefined) return { roBinds: named };
  return {
    roBinds: named ?? kDefaultRuntimeBinds.filter((path) => existsSync(path)),
    ...tools(bubblewrap.tools, bubblewrap.roBinds, kDefaultRuntimeBinds),
  };
}

/** The runner's own rule: with the default paths, the host's tools. */
function tools(
  asked: SandboxTools | undefined,
  paths: readonly string[],
  defaults: readonly string[],
): { tools?: SandboxTools } {
  const isDefault = unlessDefault(paths, defaults) === undefined;
  const wanted = asked ?? (isDefault ? "host" : undefined);
  return wanted === undefined ? {} : { tools: wanted };
}

/** Returns the host paths that mount options among the extra arguments expose. */
function shownBy(extraArgs: readonly string[], options: RegExp): string[] {
  return extraArgs.flatMap((word, at) => {
    const source = options.test(word) ? extraArgs[at + 1] : undefined;
    return source === undefined ? [] : [source];
  });
}

/** Bubblewrap: namespaces and mounts; the workspace is at /workspace. */
export const bubblewrapKind: RuntimeKind = {
  name: "bubblewrap",
  title: "Bubblewrap",
  program: "bubblewrap",
  byDomain: true,
  ownRoot: true,
  network: networkOf,
  policy: (config) => [config.bubblewrap, networkOf(config), config.required],
  grants: (config) => ({
    readable: [
      ...config.bubblewrap.roBinds,
      ...config.bubblewrap.mounts.map(({ hostPath }) => hostPath),
      ...shownBy(config.bubblewrap.extraArgs, /^--(ro-|dev-)?bind(-try)?$/),
    ],
    writable: [
      ...config.bubblewrap.mounts.flatMap(({ hostPath, mode }) =>
        mode === "rw" ? [hostPath] : [],
      ),
      ...shownBy(config.bubblewrap.extraArgs, /^--(dev-)?bind(-try)?$/),
    ],
    network: networkOf(config) === "allow",
  }),
  makeRunner: (config, options, mounts) =>
    new BubblewrapNativeRunner({
      ...options,
      ...config.bubblewrap,
      ...systemOf(config),
      mounts: [...config.bubblewrap.mounts, ...mounts],
      network: networkOf(config),
      required: config.required,
    }),
};

/** Landlock: rules of the kernel on the host's own paths; needs no program. */
const landlockKind: RuntimeKind = {
  name: "landlock",
  title: "Landlock",
  network: (config) => config.network,
  policy: (config) => [config.landlock, config.network, config.required],
  grants: ({ landlock, network }) => ({
    readable: [...landlock.fsReadDirs, ...landlock.fsWriteDirs],
    writable: landlock.fsWriteDirs,
    network: network === "allow",
  }),
  makeRunner: (config, options, mounts) => {
    const { fsReadDirs, fsWriteDirs } = config.landlock;
    const here = samePlace(mounts, "Landlock");
    const writable = hostPaths(here, "rw");
    return new LandlockNativeRunner({
      ...options,
      ...config.landlock,
      ...tools(config.landlock.tools, fsReadDirs, kDefaultReadDirs),
      fsReadDirs: extended(fsReadDirs, kDefaultReadDirs, [...hostPaths(here, "ro"), ...writable]),
      fsWriteDirs: extended(fsWriteDirs, kDefaultWriteDirs, writable),
      network: modeOf(config.network),
      required: config.required,
    });
  },
  fix: landlockFix,
};

/** An operator's profile keeps its rules for files; mounts can only be added to it. */
function mountArgs(mounts: readonly Mount[]): string[] {
  return mounts.map(({ hostPath, mode }) =>
    mode === "rw" ? `--read-write=${hostPath}` : `--read-only=${hostPath}`,
  );
}

/** Firejail: a setuid program with namespaces; we specify what it hides, or a profile does. */
const firejailKind: RuntimeKind = {
  name: "firejail",
  title: "Firejail",
  program: "firejail",
  network: (config) => config.network,
  policy: (config) => [config.firejail, config.network, config.required],
  grants: ({ firejail, network }) => ({
    readable: [...firejail.fsReadDirs, ...firejail.fsWriteDirs],
    writable: firejail.fsWriteDirs,
    network: network === "allow",
  }),
  makeRunner: (config, { transaction, ...options }, mounts) => {
    if (transaction !== undefined) {
      throw invalidValue("Firejail can't run commands in a transaction: use another runtime");
    }
    const { profile, ...own } = config.firejail;
    const { fsReadDirs, fsWriteDirs, extraArgs } = own;
    const here = samePlace(mounts, "Firejail");
    const common = {
      ...options,
      ...own,
      network: modeOf(config.network),
      required: config.required,
    };
    if (profile !== null) {
      return new FirejailNativeRunner({
        ...common,
        profile,
        fsReadDirs: unlessDefault(fsReadDirs, kDefaultFirejailReadDirs),
        fsWriteDirs: fsWriteDirs.length === 0 ? undefined : fsWriteDirs,
        extraArgs: [...extraArgs, ...mountArgs(here)],
      });
    }
    return new FirejailNativeRunner({
      ...common,
      fsReadDirs: extended(fsReadDirs, kDefaultFirejailReadDirs, hostPaths(here, "ro")),
      fsWriteDirs: [...fsWriteDirs, ...hostPaths(here, "rw")],
    });
  },
  fix: firejailFix,
};

/** No sandbox: only limits, deadline, audit record and the end of all processes. */
const nativeKind: RuntimeKind = {
  name: "native",
  title: "Native",
  // The host's network, whatever is configured; but rules are kept, since the caller relies on them.
  network: ({ network, bubblewrap }) =>
    [network, bubblewrap.network].find((each) => typeof each === "object") ?? "allow",
  policy: () => [],
  grants: () => undefined,
  makeRunner: (_config, options, mounts) => {
    for (const { hostPath, mode } of samePlace(mounts, "The native runtime")) {
      if (mode === "rw") continue;
      throw invalidValue(`the native runtime can't keep ${hostPath} from being written`);
    }
    return new LocalNativeRunner(options);
  },
};

/** The runtimes by name. */
export const kKinds: Readonly<Record<RuntimeName, RuntimeKind>> = {
  bubblewrap: bubblewrapKind,
  landlock: landlockKind,
  firejail: firejailKind,
  native: nativeKind,
};

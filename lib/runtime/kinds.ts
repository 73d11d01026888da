/** What the runtimes differ in: how a runner is made, and what its policy lets through. Pure. */

import { existsSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";

import type {
  BubblewrapNetwork,
  InTransaction,
  NetworkMode,
  RunnerOptions,
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
import { bubblewrapFix, firejailFix, landlockFix } from "./host-fixes.js";
import type { RuntimeMount, RuntimeName, RuntimeRunner } from "./runtime.js";

/** What a policy grants beyond the workspace, so that the canary must not take it for an escape. */
export type Grants = {
  /** Host paths that may be read. */
  readable: readonly string[];
  /** Host paths that may be written. */
  writable: readonly string[];
  /** The host's network. */
  network: boolean;
};

/** One kind of runtime. */
export type RuntimeKind = {
  readonly name: RuntimeName;
  /** As it is written for people. */
  readonly title: string;
  /** The package that has its program; undefined where it needs none. */
  readonly program?: string;
  /** Whether it can have a network by domain; without that such a configuration is refused. */
  readonly byDomain?: true;
  /** The network that it gives. */
  network(config: RuntimeConfig): BubblewrapNetwork;
  /** The part of the configuration that decides how it works; equal policies are proved once. */
  policy(config: RuntimeConfig): unknown;
  /** Undefined for a runtime that confines nothing. */
  grants(config: RuntimeConfig): Grants | undefined;
  /** @throws TypeError for mounts, or a transaction, that it can't have. */
  makeRunner(
    config: RuntimeConfig,
    options: RunnerOptions & InTransaction,
    mounts: readonly Mount[],
  ): RuntimeRunner;
  /** What to do about a run that could not be set up. */
  fix?(reason: string, facts: HostFacts, config: RuntimeConfig): string | undefined;
};

/** The mounts of a call, checked, and as far as a runtime can have them. Pure. */

/** A mount with nothing left out. */
export type Mount = { hostPath: string; guestPath: string; mode: "ro" | "rw" };

const kMount: FieldsOf<RuntimeMount> = { hostPath: true, guestPath: true, mode: true };

function checkPath(field: string, path: unknown): string {
  if (typeof path !== "string" || !isAbsolute(path) || path.includes("\0")) {
    throw invalidType(field, "an absolute path", path);
  }
  const plain = normalize(path);
  return plain.length > 1 && plain.endsWith("/") ? plain.slice(0, -1) : plain;
}

/** @throws TypeError that names the field. */
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

/** @throws TypeError for a mount that would have to appear at another path. */
function samePlace(mounts: readonly Mount[], runtime: string): readonly Mount[] {
  for (const { hostPath, guestPath } of mounts) {
    if (hostPath === guestPath) continue;
    throw invalidValue(
      `${runtime} can't show ${hostPath} at ${guestPath}: its paths are the host's`,
    );
  }
  return mounts;
}

/** The host paths of the mounts with this mode. */
function hostPaths(mounts: readonly Mount[], mode: Mount["mode"]): string[] {
  return mounts.filter((mount) => mount.mode === mode).map((mount) => mount.hostPath);
}

/** For a runtime that knows modes only; rules, which it refuses before, are no network. */
function modeOf(network: BubblewrapNetwork): NetworkMode {
  return network === "allow" ? "allow" : "deny";
}

/**
 * The list, or undefined when it is the default: a runner skips a default that the host lacks, and
 * insists on what is named.
 */
export function unlessDefault(
  list: readonly string[],
  defaults: readonly string[],
): readonly string[] | undefined {
  const same = list.length === defaults.length && list.every((item, at) => item === defaults[at]);
  return same ? undefined : list;
}

/** The same with more: then all must exist, so that of the defaults only those are taken that do. */
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

function roBinds(config: RuntimeConfig): readonly string[] {
  const named = unlessDefault(config.bubblewrap.roBinds, kDefaultRuntimeBinds);
  return named ?? kDefaultRuntimeBinds.filter((path) => existsSync(path));
}

/** Host paths that mounts among the extra arguments show. */
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
  makeRunner: (config, options, mounts) => {
    const { bwrapPath, devBind, procBind, allowWriteWorkspace } = config.bubblewrap;
    const { extraArgs, isolation, layers } = config.bubblewrap;
    return new BubblewrapNativeRunner({
      ...options,
      bwrapPath,
      roBinds: roBinds(config),
      mounts: [...config.bubblewrap.mounts, ...mounts],
      network: networkOf(config),
      isolation,
      devBind,
      procBind,
      allowWriteWorkspace,
      extraArgs,
      layers,
      required: config.required,
    });
  },
  fix: bubblewrapFix,
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
    const { fsReadDirs, fsWriteDirs, allowReadWorkspace, allowWriteWorkspace } = config.landlock;
    const here = samePlace(mounts, "Landlock");
    const writable = hostPaths(here, "rw");
    return new LandlockNativeRunner({
      ...options,
      fsReadDirs: extended(fsReadDirs, kDefaultReadDirs, [...hostPaths(here, "ro"), ...writable]),
      fsWriteDirs: extended(fsWriteDirs, kDefaultWriteDirs, writable),
      allowReadWorkspace,
      allowWriteWorkspace,
      network: modeOf(config.network),
      required: config.required,
    });
  },
  fix: landlockFix,
};

/** What a profile of the operator's says of files stands; a mount can only be added to it. */
function mountArgs(mounts: readonly Mount[]): string[] {
  return mounts.map(({ hostPath, mode }) =>
    mode === "rw" ? `--read-write=${hostPath}` : `--read-only=${hostPath}`,
  );
}

/** Firejail: a setuid program with namespaces; we tell it what to hide, or a profile does. */
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
    const { firejailPath, profile, fsReadDirs, fsWriteDirs, extraArgs } = config.firejail;
    const here = samePlace(mounts, "Firejail");
    const common = {
      ...options,
      firejailPath,
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
      extraArgs,
    });
  },
  fix: firejailFix,
};

/** No sandbox: limits, deadline, record and the end of all processes only. */
const nativeKind: RuntimeKind = {
  name: "native",
  title: "Native",
  // The host's, whatever is configured; but rules are asked for by those who rely on them.
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

/**
 * Narrows a ceiling by a caller's request: returns all that was requested, or a Refusal that names the field. Pure. The
 * request comes from the network, so it is checked here, and only checked fields are used.
 */

import { isDeepStrictEqual } from "node:util";

import type {
  EnvironmentPolicy,
  NativeLimits,
  NativeMount,
  SandboxCaches,
  SandboxHome,
  SandboxRoot,
} from "../../../types/public.js";
import {
  kAllOfBubblewrap,
  kNarrowable,
  type NarrowableName,
  type Narrowing,
  type OwnRuleName,
} from "../../options.js";
import { kDefaultRoBinds } from "../../runners/bubblewrap.js";
import type { Ceiling, LimitCeiling, NarrowableOptions } from "./ceiling.js";
import { checked, type Fault, listed, Refusal } from "./checked.js";
import { narrowNetwork } from "./narrow-network.js";
import { type Asked, type AskedLimits, askedSchema, limitsSchema } from "./policy-schema.js";

/** Options of the runner for a caller, besides the workspace. */
export type RunnerOptionsForCaller = NarrowableOptions & {
  /** The operator's bwrap program. */
  bwrapPath: string;
};

/** The result of a request that the policy allows. */
export type Narrowed = {
  /** Options of the runner. */
  options: RunnerOptionsForCaller;
  /** Limits of runs that request none. */
  limits: NativeLimits;
};

const refusalOf = ({ field, got, expected, message }: Fault) =>
  new Refusal(field, got, expected ?? "left out", message);

/** Options of a request, checked. */
type AskedOptions = Omit<Asked, "limits">;

/** The rules of options that have their own; each is called with a request for its option. */
const kOwnRules = {
  home: (wide, asked) => narrowHome(wide.home, asked.home),
  caches: (wide, asked) => narrowCaches(wide.caches, asked.caches),
  network: (wide, asked) => narrowNetwork(wide.network, asked.network),
  root: (wide, asked) => narrowRoot(wide.root, asked.root),
  roBinds: (wide, asked) => narrowRoBinds(wide, asked.roBinds),
  mounts: (wide, asked) =>
    narrowMounts(wide.mounts, asked.mounts, wide.root === undefined ? wide.roBinds : ["/"]),
  devices: (wide, asked) => narrowDevices(wide.devices, asked.devices),
  envPolicy: (wide, asked) => narrowEnvironment(wide.envPolicy, asked.envPolicy),
} satisfies Record<OwnRuleName, (wide: NarrowableOptions, asked: AskedOptions) => unknown>;

/** Returns the ceiling or the requested value, by the rule in the option's row, or a Refusal. */
function partOf(name: NarrowableName, wide: NarrowableOptions, asked: AskedOptions): unknown {
  const rule: Narrowing = kAllOfBubblewrap[name].worker;
  const ceiling: unknown = wide[name];
  const wanted: unknown = asked[name];
  if (wanted === undefined && rule.by !== "union") return ceiling;
  switch (rule.by) {
    case "only":
      if (wanted === ceiling || wanted === rule.value) return wanted;
      return new Refusal(name, wanted, JSON.stringify(rule.value));
    case "union":
      return [...new Set([...(ceiling as string[]), ...((wanted ?? []) as string[])])];
    case "atMost": {
      const most = (ceiling as number | undefined) ?? rule.unset ?? Number.POSITIVE_INFINITY;
      return (wanted as number) <= most ? wanted : new Refusal(name, wanted, `at most ${most}`);
    }
    case "own":
      return kOwnRules[name as OwnRuleName](wide, asked);
  }
}

/** Returns the ceiling's options, narrowed by a request that was already checked. */
export function narrowOptions(
  wide: NarrowableOptions,
  request: AskedOptions,
): NarrowableOptions | Refusal {
  // Caches lie in the home: without a home there are none.
  const asked =
    request.home === "none" ? { ...request, caches: request.caches ?? "none" } : request;
  const parts = kNarrowable.map((name) => [name, partOf(name, wide, asked)] as const);
  const refused = parts.find(([, part]) => part instanceof Refusal)?.[1];
  if (refused instanceof Refusal) return refused;
  return Object.fromEntries(parts) as NarrowableOptions;
}

/**
 * Narrows a ceiling by a caller's request.
 * @param asked the caller's value, unchecked; undefined requests nothing
 */
export function narrow(ceiling: Ceiling, asked: unknown = {}): Narrowed | Refusal {
  const read = checked(askedSchema, asked, "options");
  if ("fault" in read) return refusalOf(read.fault);
  const options = narrowOptions(ceiling.options, read.value);
  if (options instanceof Refusal) return options;
  const limits = narrowedLimits(ceiling.limits, read.value.limits);
  if (limits instanceof Refusal) return limits;
  return { options: { ...options, bwrapPath: ceiling.bwrapPath }, limits };
}

/**
 * Returns the limits of one run.
 * @param asked the caller's value, unchecked
 */
export function narrowLimits(ceiling: LimitCeiling, asked: unknown = {}): NativeLimits | Refusal {
  const read = checked(limitsSchema, asked, "limits");
  if (!("fault" in read)) return narrowedLimits(ceiling, read.value);
  const { field, ...fault } = read.fault;
  const place = field === "" ? "limits" : `limits.${field}`;
  const message = fault.message.replace(`\`${field}\``, `\`${place}\``);
  return refusalOf({ ...fault, field: place, message });
}

/** Limits of runs. A value above the ceiling is refused, not lowered: the caller relies on the value it requested. */

/** Limits of a run that requests none, as the runner's own defaults. Limits missing here are then not set. */
const kDefaults: Readonly<Partial<Record<keyof LimitCeiling, number>>> = Object.freeze({
  timeoutMs: 60_000,
  maxStdoutBytes: 1024 ** 2,
  maxStderrBytes: 1024 ** 2,
});

const kNames = [
  "timeoutMs",
  "maxStdoutBytes",
  "maxStderrBytes",
  "memoryBytes",
  "cpuSeconds",
  "maxProcesses",
  "maxOpenFiles",
  "maxFileBytes",
  "cpuShare",
  "ioShare",
  "writeBytes",
] as const satisfies readonly (keyof LimitCeiling)[];

type Most = Partial<Record<keyof LimitCeiling, number | undefined>>;

function overOf(ceiling: Most, asked: Most): Refusal | undefined {
  for (const name of kNames) {
    const most = ceiling[name];
    const wanted = asked[name];
    if (most === undefined || wanted === undefined || wanted <= most) continue;
    return new Refusal(`limits.${name}`, wanted, `at most ${most}`);
  }
  const { reserveBytes: least = 0 } = ceiling;
  const { reserveBytes: kept = least } = asked;
  if (kept < least) return new Refusal("limits.reserveBytes", kept, `at least ${least}`);
  return undefined;
}

/** Returns a run's limits: the requested value, else the lower of the runner's default and the ceiling. */
function narrowedLimits(ceiling: LimitCeiling, asked: AskedLimits = {}): NativeLimits | Refusal {
  const over = overOf(ceiling, asked);
  if (over !== undefined) return over;
  const limits: NativeLimits = asked.keep === undefined ? {} : { keep: asked.keep };
  for (const name of kNames) {
    const least = Math.min(
      kDefaults[name] ?? Number.POSITIVE_INFINITY,
      ceiling[name] ?? Number.POSITIVE_INFINITY,
    );
    const value = asked[name] ?? least;
    if (name === "timeoutMs" || value !== Number.POSITIVE_INFINITY) limits[name] = value;
  }
  const { reserveBytes = ceiling.reserveBytes } = asked;
  return reserveBytes === undefined ? limits : { ...limits, reserveBytes };
}

/** Returns the limits of a tenant's ceiling: no value exceeds `ceiling`. */
export function lowerLimits(ceiling: LimitCeiling, asked: Most): LimitCeiling | Refusal {
  const over = overOf(ceiling, asked);
  if (over !== undefined) return over;
  const set = Object.entries(asked).filter(([, value]) => value !== undefined);
  return { ...ceiling, ...Object.fromEntries(set) };
}

/** A home that is kept is seen by later commands too, so an empty one or none is narrower. */
function narrowHome(ceiling: SandboxHome, asked: SandboxHome | undefined): SandboxHome | Refusal {
  if (asked === undefined || asked === ceiling) return ceiling;
  if (asked === "none" || (asked === "private" && ceiling !== "none")) return asked;
  const isSame =
    typeof asked === "object" &&
    typeof ceiling === "object" &&
    asked.directory === ceiling.directory;
  if (isSame) return ceiling;
  return new Refusal("home", asked, ceiling === "none" ? '"none"' : '"private" or "none"');
}

/** Each cache is one more thing to read, so fewer of them are narrower. */
function narrowCaches(
  ceiling: SandboxCaches,
  asked: SandboxCaches | undefined,
): SandboxCaches | Refusal {
  if (asked === undefined || asked === ceiling) return ceiling;
  if (asked === "none" || ceiling === "host") return asked;
  const wide = ceiling === "none" ? [] : ceiling;
  if (asked !== "host" && asked.every((name) => wide.includes(name))) return asked;
  return new Refusal("caches", asked, wide.length === 0 ? '"none"' : `among ${wide.join(", ")}`);
}

/** No root file system is narrower than another one. */
function narrowRoot(
  ceiling: SandboxRoot | undefined,
  asked: SandboxRoot | undefined,
): SandboxRoot | undefined | Refusal {
  if (asked === undefined || isDeepStrictEqual({ ...asked }, { ...ceiling })) return ceiling;
  return new Refusal("root", { ...asked }, "left out: the policy says it");
}

/**
 * Mounts. A caller can request only mounts of the ceiling, at their places. A path below one of them is not treated as
 * narrower, since commands may have planted a link there, which the mount would follow.
 */

type AskedMount = NonNullable<Asked["mounts"]>[number];

const kWorkspace = "/workspace";

/** Returns the path without doubled slashes, "." components and a trailing slash. */
function normal(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return `/${parts.join("/")}`;
}

/** True if `path` equals `above` or lies below it. */
function isWithin(path: string, above: string): boolean {
  return above === "/" || path === above || path.startsWith(`${above}/`);
}

const guestOf = ({ hostPath, guestPath }: AskedMount | NativeMount) =>
  normal(guestPath ?? hostPath);

/** Returns the requested entries of the ceiling, in the ceiling's order. */
function narrowRoBinds(
  { roBinds: ceiling, root }: NarrowableOptions,
  asked: readonly string[] | undefined,
): readonly string[] | undefined | Refusal {
  if (asked === undefined) return ceiling;
  const all = root === undefined ? (ceiling ?? kDefaultRoBinds) : [];
  const known = new Set(all.map(normal));
  const at = asked.findIndex((path) => !known.has(normal(path)));
  if (at >= 0) {
    const allowed = all.length > 0 ? `one of ${listed(all)}` : "left out";
    return new Refusal(`roBinds[${at}]`, asked[at], allowed);
  }
  const wanted = new Set(asked.map(normal));
  return all.filter((path) => wanted.has(normal(path)));
}

/**
 * True if a mount covers another one. Omitting such a mount would reveal a directory that the operator has hidden, so
 * it stays even if the caller does not request it.
 */
function hides(mounts: readonly NativeMount[], at: number, roBinds: readonly string[]): boolean {
  const guest = guestOf(mounts[at] as NativeMount);
  const below = [...roBinds.map(normal), ...mounts.slice(0, at).map(guestOf), kWorkspace];
  return below.some((place) => isWithin(guest, place) || isWithin(place, guest));
}

/** Returns the requested mounts of the ceiling and those that hide others, in the ceiling's order. */
function narrowMounts(
  ceiling: readonly NativeMount[],
  asked: readonly AskedMount[] | undefined,
  ceilingRoBinds: readonly string[] | undefined,
): readonly NativeMount[] | Refusal {
  if (asked === undefined) return ceiling;
  const modes = new Map<number, "ro" | "rw">();
  for (const [at, mount] of asked.entries()) {
    const of = ceiling.findIndex(
      (each) =>
        normal(each.hostPath) === normal(mount.hostPath) && guestOf(each) === guestOf(mount),
    );
    const found = ceiling[of];
    if (found === undefined) {
      const places = ceiling.map((each) => `${normal(each.hostPath)} at ${guestOf(each)}`);
      const allowed = places.length > 0 ? `one of ${listed(places)}` : "left out";
      return new Refusal(`mounts[${at}]`, { ...mount }, allowed);
    }
    if (modes.has(of)) return new Refusal(`mounts[${at}]`, { ...mount }, "named once");
    if (mount.mode === "rw" && found.mode === "ro") {
      return new Refusal(`mounts[${at}].mode`, mount.mode, '"ro"');
    }
    modes.set(of, mount.mode);
  }
  const roBinds = ceilingRoBinds ?? kDefaultRoBinds;
  return ceiling.flatMap((mount, at) => {
    const mode = modes.get(at);
    if (mode !== undefined) return [{ ...mount, mode }];
    return hides(ceiling, at, roBinds) ? [mount] : [];
  });
}

/** One GPU of NVIDIA's is narrower than all. Any other device has to be named as the ceiling names it. */
function narrowDevices(
  ceiling: readonly string[],
  asked: readonly string[] | undefined,
): readonly string[] | Refusal {
  if (asked === undefined) return ceiling;
  const isAllowed = (device: string) =>
    ceiling.includes(device) || (/^nvidia:\d+$/.test(device) && ceiling.includes("nvidia"));
  const at = asked.findIndex((device) => !isAllowed(device));
  if (at < 0) return asked;
  const allowed = ceiling.length > 0 ? `one of ${listed(ceiling)}` : "left out";
  return new Refusal(`devices[${at}]`, asked[at], allowed);
}

/** The filter on the worker's environment variables. */

const isNames = (policy: EnvironmentPolicy): policy is readonly string[] => Array.isArray(policy);

function quoted(policies: readonly string[]): string {
  return policies.map((each) => JSON.stringify(each)).join(" or ");
}

/**
 * Narrows the environment filter. "inherit" is the widest, "clean" the narrowest; a list is narrower than a list that
 * holds all its names. No list is narrower than "scrub", which also inspects values: a listed name may carry a secret.
 */
function narrowEnvironment(
  ceiling: EnvironmentPolicy,
  asked: EnvironmentPolicy | undefined,
): EnvironmentPolicy | Refusal {
  if (asked === undefined) return ceiling;
  const isEmpty = isNames(asked) && asked.length === 0;
  if (ceiling === "inherit" || asked === "clean" || isEmpty || asked === ceiling) return asked;
  if (!isNames(ceiling)) {
    const allowed = ceiling === "scrub" ? ["scrub", "clean"] : ["clean"];
    return new Refusal("envPolicy", asked, quoted(allowed));
  }
  const some = `some of ${listed(ceiling) || "no names"}, or "clean"`;
  if (!isNames(asked)) return new Refusal("envPolicy", asked, some);
  const at = asked.findIndex((name) => !ceiling.includes(name));
  return at < 0 ? asked : new Refusal(`envPolicy[${at}]`, asked[at], `one of ${listed(ceiling)}`);
}

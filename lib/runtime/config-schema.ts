/** Checks a configuration from outside, in camelCase. */

import * as v from "valibot";

import type { NetworkByDomain } from "../../types/public.js";
import { kPresetNames } from "../network.js";
import { kDefaultFirejailReadDirs } from "../runners/firejail.js";
import { kDefaultReadDirs, kDefaultWriteDirs } from "../runners/landlock.js";
import { kShellBlockRules } from "../shell-policy/policy.js";
import type { RuntimeConfig } from "./config.js";
import { kRuntimeTypes } from "./runtime.js";

/** Schemas of objects in a configuration. */

/** strictObject accepts an array as an object, so this checks first. */
export const record = v.custom<Record<string, unknown>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "an object",
);

/**
 * Removes the prototype: the checker iterates over inherited names too, and other code may have added one.
 */
export function bare<Entries extends object>(entries: Entries): Entries {
  return Object.assign(Object.create(null), entries);
}

/** Schemas of networks in a configuration. */

const host = v.pipe(
  v.string("a string"),
  v.nonEmpty("a host name"),
  v.excludes("\0", "a string without NUL"),
);
const hosts = v.optional(v.array(host, "an array of strings"));

/** Fields of a network by domain; the runner validates the entries. */
const kByDomain = {
  allow: hosts,
  deny: hosts,
  allowPrivate: hosts,
  presets: v.optional(v.array(v.picklist(kPresetNames), "an array of presets")),
  onRequest: v.optional(
    v.custom<NonNullable<NetworkByDomain["onRequest"]>>(isFunction, "a function"),
  ),
};

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

const byDomain = v.pipe(
  record,
  v.strictObject(bare(kByDomain)),
  v.check(
    ({ allow, presets, onRequest }) =>
      allow !== undefined || presets !== undefined || onRequest !== undefined,
    'an object with `allow` (or "allow" or "deny")',
  ),
);
const mode = v.picklist(["allow", "deny"]);

/** "allow", "deny", or rules. */
const network = v.lazy((value) => (typeof value === "object" && value !== null ? byDomain : mode));

/** Paths that Bubblewrap mounts read-only by default. */
export const kDefaultRuntimeBinds: readonly string[] = Object.freeze([
  "/usr",
  "/lib",
  "/lib64",
  "/etc",
  "/bin",
  "/sbin",
]);

const filled = v.pipe(v.string("a string"), v.nonEmpty("a string that is not empty"));
const safe = v.pipe(filled, v.excludes("\0", "a string without NUL"));
const path = v.pipe(safe, v.startsWith("/", "an absolute path"));
const flag = v.boolean("true or false");

function list<const Item extends v.GenericSchema<unknown, string>>(
  item: Item,
  initial: readonly v.InferInput<Item>[] = [],
) {
  return v.optional(v.array(item, "an array of strings"), () => [...initial]);
}

const kMount = {
  hostPath: path,
  guestPath: v.optional(path),
  mode: v.picklist(["ro", "rw"]),
  label: v.optional(v.pipe(v.string("a string"), v.excludes("\0", "a string without NUL"))),
};

/** The runner checks which paths a mount may hide. */
function mounts() {
  const mount = v.pipe(record, v.strictObject(bare(kMount)));
  return v.optional(v.array(mount, "an array of objects"), () => []);
}

function section<const Entries extends v.ObjectEntries>(entries: Entries) {
  return v.optional(v.pipe(record, v.strictObject(bare(entries))), () => bare({}));
}

const kSections = {
  landlock: {
    fsReadDirs: list(path, kDefaultReadDirs),
    fsWriteDirs: list(path, kDefaultWriteDirs),
    allowReadWorkspace: v.optional(flag, true),
    allowWriteWorkspace: v.optional(flag, true),
  },
  firejail: {
    firejailPath: v.optional(safe, "firejail"),
    profile: v.optional(v.nullable(path), null),
    fsReadDirs: list(path, kDefaultFirejailReadDirs),
    fsWriteDirs: list(path),
    extraArgs: list(safe),
  },
  bubblewrap: {
    bwrapPath: v.optional(safe, "bwrap"),
    roBinds: list(path, kDefaultRuntimeBinds),
    mounts: mounts(),
    devBind: v.optional(flag, true),
    procBind: v.optional(flag, true),
    allowWriteWorkspace: v.optional(flag, true),
    extraArgs: list(safe),
    isolation: v.optional(v.picklist(["strict", "compat"]), "strict"),
    layers: list(v.picklist(["landlock"])),
    network: v.optional(network),
  },
  security: {
    shellAllowlist: list(filled),
    shellAllowlistMode: v.optional(v.picklist(["off", "warn", "strict"]), "off"),
    shellBlocklist: list(filled),
    disabledShellRules: list(v.picklist(kShellBlockRules)),
  },
};

const kEntries = bare({
  runtimeType: v.optional(v.picklist(kRuntimeTypes), "auto"),
  allowFallbackToNative: v.optional(flag, false),
  network: v.optional(network, "deny"),
  required: list(filled),
  landlock: section(kSections.landlock),
  firejail: section(kSections.firejail),
  bubblewrap: section(kSections.bubblewrap),
  security: section(kSections.security),
});

const kConfig = v.pipe(record, v.strictObject(kEntries));

/** An invalid setting: its place, its value, and the accepted values. */
export type ConfigIssue = {
  /** Names from the top, in camelCase. */
  path: string[];
  /** True if the path's last name is an unknown field; `choices` are the known ones. */
  unknownKey: boolean;
  /** Continues "Expected … to be". */
  expected: string;
  received: unknown;
  /** Accepted values or names, if they can be listed. */
  choices: string[];
};

function fieldsAt(section: string | undefined): string[] {
  if (/^\d+$/.test(section ?? "")) return Object.keys(kMount);
  const sections: Record<string, object> = { ...kSections, network: kByDomain };
  return Object.keys((section === undefined ? kEntries : sections[section]) ?? {});
}

function issueOf(issue: v.BaseIssue<unknown>): ConfigIssue {
  const path = (issue.path ?? []).map(({ key }) => String(key));
  const unknownKey = issue.type === "strict_object" && issue.expected === "never";
  const listed = issue.type === "picklist" ? (issue.expected ?? "").match(/[^"|() ]+/g) : null;
  const choices = unknownKey ? fieldsAt(path.at(-2)) : [...(listed ?? [])];
  const expected = listed ? `one of ${choices.join(", ")}` : issue.message;
  return { path, unknownKey, expected, received: issue.input, choices };
}

/** Returns the configuration with its defaults, or its first error. */
export function checkConfig(value: unknown): { config: RuntimeConfig } | { issue: ConfigIssue } {
  const checked = v.safeParse(kConfig, value, { abortEarly: true });
  if (checked.success) return { config: checked.output };
  return { issue: issueOf(checked.issues[0]) };
}

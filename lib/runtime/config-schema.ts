/** Checks a configuration from outside, in camelCase. */

import * as v from "valibot";

import type { HttpRule, NetworkByDomain } from "../../types/public.js";
import { kPresetNames } from "../network.js";
import {
  bare,
  entriesFor,
  flag,
  type OptionSchemas,
  primitives,
  record,
} from "../option-schemas.js";
import {
  kBubblewrap,
  kConfining,
  kFirejail,
  kLandlock,
  namesWith,
  type OptionRow,
} from "../options.js";
import { sealedSecrets, secretsPolicy } from "../secrets/policy.js";
import { kShellBlockRules } from "../shell-policy/policy.js";
import type { BubblewrapConfig, FirejailConfig, LandlockConfig, RuntimeConfig } from "./config.js";
import { kRuntimeTypes } from "./runtime.js";

/** Schemas of networks in a configuration. */

const host = v.pipe(
  v.string("a string"),
  v.nonEmpty("a host name"),
  v.excludes("\0", "a string without NUL"),
);
const hosts = v.optional(v.array(host, "an array of strings"));

/** Secrets, without a value in sight: a configuration is printed. The runner validates them. */
const secrets = v.pipe(
  v.any(),
  v.transform((given) => {
    secretsPolicy({ secrets: given });
    return sealedSecrets(given) as NetworkByDomain["secrets"];
  }),
);

/** A rule for requests; the runner validates it. */
const httpRule = v.custom<HttpRule>(
  (value) => typeof value === "object" && value !== null,
  "an object",
);

/** Fields of a network by domain; the runner validates the entries. */
const kByDomain = {
  allow: hosts,
  deny: hosts,
  allowPrivate: hosts,
  hostPorts: v.optional(
    v.array(v.union([v.number(), host], "a port or an address with one"), "an array of ports"),
  ),
  presets: v.optional(v.array(v.picklist(kPresetNames), "an array of presets")),
  secrets: v.optional(secrets),
  http: v.optional(v.array(httpRule, "an array of objects")),
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
    ({ allow, presets, hostPorts, onRequest }) =>
      [allow, presets, hostPorts, onRequest].some((each) => each !== undefined),
    'an object with `allow` (or "allow" or "deny")',
  ),
);
const mode = v.picklist(["allow", "deny"]);

/** "allow", "deny", or rules. */
const network = v.lazy((value) => (typeof value === "object" && value !== null ? byDomain : mode));

/** Paths that Bubblewrap mounts read-only by default. */
export const kDefaultRuntimeBinds = kBubblewrap.roBinds.config.default;

/** Schemas of options in a configuration. The runner checks which paths a mount may hide. */

const unbounded = Number.POSITIVE_INFINITY;
const of = primitives({
  characters: unbounded,
  entries: unbounded,
  mounts: unbounded,
  isStrict: false,
});
const kSchemas: OptionSchemas = {
  primitives: of,
  network,
  mount: v.pipe(record, v.strictObject(bare(of.mount))),
};

/** Adds the default of an option in the configuration; each caller gets a list of its own. */
function withDefault(schema: v.GenericSchema, { config = {}, ...row }: OptionRow) {
  const initial = "default" in config ? config.default : (row.default ?? row.paths);
  if (initial === undefined) return v.optional(schema);
  const given = initial === null ? v.nullable(schema) : schema;
  return v.optional(given, () => (Array.isArray(initial) ? [...initial] : initial));
}

function names<const Item extends v.GenericSchema<unknown, string>>(item: Item) {
  return v.optional(of.list(item), () => []);
}

function section<const Entries extends v.ObjectEntries>(entries: Entries) {
  return v.optional(v.pipe(record, v.strictObject(bare(entries))), () => bare({}));
}

function configured<Fields>() {
  return entriesFor<Fields>(kSchemas, withDefault);
}

const kSections = {
  landlock: configured<LandlockConfig>()(kLandlock, namesWith("config", kLandlock)),
  firejail: configured<FirejailConfig>()(kFirejail, namesWith("config", kFirejail)),
  bubblewrap: {
    ...configured<BubblewrapConfig>()(kBubblewrap, namesWith("config", kBubblewrap)),
    network: v.optional(network),
  },
  security: {
    shellAllowlist: names(of.filled),
    shellAllowlistMode: v.optional(v.picklist(["off", "warn", "strict"]), "off"),
    shellBlocklist: names(of.filled),
    disabledShellRules: names(v.picklist(kShellBlockRules)),
  },
};

const kEntries = bare({
  runtimeType: v.optional(v.picklist(kRuntimeTypes), "auto"),
  allowFallbackToNative: v.optional(flag, false),
  ...configured<RuntimeConfig>()(kConfining, namesWith("config", kConfining)),
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
  if (/^\d+$/.test(section ?? "")) return Object.keys(of.mount);
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

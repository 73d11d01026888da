/** Schemas of a policy file and of a caller's request. */

import * as v from "valibot";

import { kPresetNames } from "../../network.js";
import { fields } from "./checked.js";

const kMostCharacters = 4096; // PATH_MAX
const filled = v.pipe(
  v.string("a string"),
  v.nonEmpty("a string that is not empty"),
  v.maxLength(kMostCharacters, `a string of at most ${kMostCharacters} characters`),
);
const safe = v.pipe(filled, v.excludes("\0", "a string without NUL"));
const path = v.pipe(
  safe,
  v.startsWith("/", "an absolute path"),
  v.check((text) => !text.split("/").includes(".."), "a path without '..'"),
);
const flag = v.boolean("true or false");
const kMostEntries = 1024; // as the runner's host lists

function list<const Item extends v.GenericSchema<unknown, string>>(item: Item) {
  return v.pipe(
    v.array(item, "an array of strings"),
    v.maxLength(kMostEntries, `an array of at most ${kMostEntries} strings`),
  );
}

const kCount = "an integer from 0 to 9007199254740991";
const count = v.pipe(v.number(kCount), v.safeInteger(kCount), v.minValue(0, kCount));

/** A duration in milliseconds. JSON lacks Infinity; "none" means it, as on the command line. */
const duration = v.pipe(
  v.custom<number | "none">(
    (value) => value === "none" || (typeof value === "number" && value > 0),
    'a number greater than 0, or "none"',
  ),
  v.transform((value) => (value === "none" ? Number.POSITIVE_INFINITY : value)),
);

const kMost = {
  timeoutMs: v.optional(duration),
  maxStdoutBytes: v.optional(count),
  maxStderrBytes: v.optional(count),
  memoryBytes: v.optional(count),
  cpuSeconds: v.optional(count),
  maxProcesses: v.optional(count),
  maxOpenFiles: v.optional(count),
  maxFileBytes: v.optional(count),
};

const hosts = v.optional(list(safe));

const rules = v.pipe(
  fields({
    allow: hosts,
    deny: hosts,
    allowPrivate: hosts,
    presets: v.optional(list(v.picklist(kPresetNames))),
  }),
  v.check(
    ({ allow, presets }) => allow !== undefined || presets !== undefined,
    'an object with `allow` or `presets` (or "allow" or "deny")',
  ),
);

/** A network. `onRequest` is not a field: a function can't be sent. */
const network = v.lazy((value) =>
  typeof value === "object" && value !== null ? rules : v.picklist(["allow", "deny"]),
);

const mount = fields({
  hostPath: path,
  guestPath: v.optional(path),
  mode: v.picklist(["ro", "rw"]),
  label: v.optional(safe),
});

const kMostMounts = 256; // as in the runner

const environment = v.lazy((value) =>
  Array.isArray(value) ? list(safe) : v.picklist(["scrub", "inherit", "clean"]),
);

const kOptions = {
  network: v.optional(network),
  roBinds: v.optional(list(path)),
  mounts: v.optional(
    v.pipe(
      v.array(mount, "an array of objects"),
      v.maxLength(kMostMounts, `an array of at most ${kMostMounts} mounts`),
    ),
  ),
  envPolicy: v.optional(environment),
  isolation: v.optional(v.picklist(["strict", "compat"])),
  layers: v.optional(list(v.picklist(["landlock"]))),
  required: v.optional(list(safe)),
  allowWriteWorkspace: v.optional(flag),
  devBind: v.optional(flag),
  procBind: v.optional(flag),
  clone: v.optional(v.picklist(["auto", "never"])),
  prewarm: v.optional(v.pipe(count, v.maxValue(64, "an integer from 0 to 64"))),
  prewarmIdleMs: v.optional(v.pipe(count, v.minValue(1, "an integer from 1"))),
};

/** Limits that a run requests. */
export const limitsSchema = fields({
  ...kMost,
  keep: v.optional(v.picklist(["head", "head+tail"])),
});

/** A caller's request, besides the workspace and the command. */
export const askedSchema = fields({ ...kOptions, limits: v.optional(limitsSchema) });

const kNarrower = {
  ...kOptions,
  limits: v.optional(fields(kMost)),
  slots: v.optional(v.pipe(count, v.minValue(1, "an integer from 1"))),
};

/** One value of `tenants`. */
export const tenantSchema = fields(kNarrower);

/** The policy file. Of `tenants` it checks only that it is an object, since valibot skips some names. */
export const policySchema = fields({
  ...kNarrower,
  bwrapPath: v.optional(
    v.pipe(
      safe,
      v.check(
        (text) => !text.includes("/") || text.startsWith("/"),
        "a program's name or an absolute path",
      ),
    ),
  ),
  tenants: v.optional(
    v.custom<Record<string, unknown>>(
      (value) => typeof value === "object" && value !== null && !Array.isArray(value),
      "an object",
    ),
  ),
});

/** Requested limits, checked. */
export type AskedLimits = v.InferOutput<typeof limitsSchema>;
/** A request, checked. */
export type Asked = v.InferOutput<typeof askedSchema>;
/** A tenant's override of the ceiling. */
export type TenantOverride = v.InferOutput<typeof tenantSchema>;
/** A network as written; its entries are not yet checked. */
export type WrittenNetwork = NonNullable<Asked["network"]>;

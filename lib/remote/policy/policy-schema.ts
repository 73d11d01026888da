/** Schemas of a policy file and of a caller's request. */

import * as v from "valibot";

import type { BubblewrapNativeRunnerOptions, NetworkMode } from "../../../types/public.js";
import { kPresetNames } from "../../network.js";
import { count, countFrom, duration, entriesFor, primitives } from "../../option-schemas.js";
import { kAllOfBubblewrap, kNarrowable } from "../../options.js";
import { isToken } from "../subjects.js";
import { fields } from "./checked.js";

const of = primitives({
  characters: 4096, // PATH_MAX
  entries: 1024, // as the runner's host lists
  mounts: 256, // as in the runner
  isStrict: true,
});
const { safe, list } = of;

const kMost = {
  timeoutMs: v.optional(duration),
  maxStdoutBytes: v.optional(count),
  maxStderrBytes: v.optional(count),
  memoryBytes: v.optional(count),
  cpuSeconds: v.optional(count),
  maxProcesses: v.optional(count),
  maxOpenFiles: v.optional(count),
  maxFileBytes: v.optional(count),
  cpuShare: v.optional(countFrom(1, 10_000)),
  ioShare: v.optional(countFrom(1, 1000)),
  writeBytes: v.optional(count),
  reserveBytes: v.optional(count),
};

const hosts = v.optional(list(safe));

const kPorts = "an array of at most 64 ports";
const ports = v.pipe(
  v.array(v.union([v.number(), safe], "a port or an address with one"), kPorts),
  v.maxLength(64, kPorts),
);

const rules = v.pipe(
  fields({
    allow: hosts,
    deny: hosts,
    allowPrivate: hosts,
    hostPorts: v.optional(ports),
    presets: v.optional(list(v.picklist(kPresetNames))),
  }),
  v.check(
    ({ allow, presets, hostPorts }) =>
      [allow, presets, hostPorts].some((each) => each !== undefined),
    'an object with `allow`, `presets` or `hostPorts` (or "allow" or "deny")',
  ),
);

/** A network. `onRequest` is not a field: a function can't be sent. */
const network = v.lazy((value) =>
  typeof value === "object" && value !== null ? rules : v.picklist(["allow", "deny"]),
);

type Written = Omit<BubblewrapNativeRunnerOptions, "network"> & {
  network?: NetworkMode | v.InferOutput<typeof rules> | undefined;
};

const optional = (schema: v.GenericSchema) => v.optional(schema);
const written = entriesFor<Written>({ primitives: of, network, mount: fields(of.mount) }, optional);
const kOptions = written(kAllOfBubblewrap, kNarrowable);

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
  slots: v.optional(countFrom(1)),
  pools: v.optional(
    list(
      v.custom<string>(isToken, "a name of at most 64 letters, digits, hyphens and underscores"),
    ),
  ),
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

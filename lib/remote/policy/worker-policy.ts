/** Reads the file of `native-runner worker --policy`. */

import stripJsonComments from "strip-json-comments";

import { invalidValue } from "../../errors.js";
import { kAllOfBubblewrap, kNarrowable, type OptionRow } from "../../options.js";
import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import { isToken } from "../subjects.js";
import type { Ceiling, LimitCeiling, NarrowableOptions, WorkerPolicy } from "./ceiling.js";
import { checked, listed, Refusal, shown } from "./checked.js";
import { lowerLimits, narrowOptions } from "./narrow.js";
import { networkOf } from "./narrow-network.js";
import { policySchema, type TenantOverride, tenantSchema } from "./policy-schema.js";

/** The options of a policy that sets none. Callers see the tools of the worker's user only if the policy says so. */
const kOptions = {
  ...(Object.fromEntries(
    kNarrowable.map((name) => [name, (kAllOfBubblewrap[name] as OptionRow).default]),
  ) as NarrowableOptions),
  tools: "none",
} satisfies NarrowableOptions;

const kLimits: LimitCeiling = {
  timeoutMs: 3_600_000,
  maxStdoutBytes: 64 * 1024 ** 2,
  maxStderrBytes: 64 * 1024 ** 2,
};

/** Returns the defined fields, which override defaults. */
function set<Value extends object>(value: Value): Partial<Value> {
  const there = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(there) as Partial<Value>;
}

function faulty(where: string, refusal: Refusal): TypeError {
  const { field, asked, allowed } = refusal;
  const got = `got ${shown(asked)}`;
  return invalidValue(`Expected \`${where}${field}\` to be ${allowed}, ${got}`);
}

function ceilingFrom(written: TenantOverride, bwrapPath: string): Ceiling {
  const { limits = {}, network: asked = "deny", slots, pools, ...options } = written;
  const network = networkOf(asked);
  if (network instanceof Refusal) throw faulty("", network);
  const own = { ...kOptions, ...set(options), network } as NarrowableOptions;
  return {
    bwrapPath,
    slots,
    pools,
    options: own,
    limits: { ...kLimits, ...set(limits) } as LimitCeiling,
  };
}

/**
 * Returns a tenant's ceiling.
 * @throws TypeError if it is wider than the ceiling for all
 */
function tenantCeiling(name: string, ceiling: Ceiling, value: unknown): Ceiling {
  const place = `tenants.${name}`;
  if (!isToken(name)) {
    const expected = "a name of at most 64 letters, digits, hyphens and underscores";
    throw invalidValue(`Expected a tenant in \`tenants\` to be ${expected}, got ${shown(name)}`);
  }
  const read = checked(tenantSchema, value, place);
  if ("fault" in read) {
    const { field, expected, got, message } = read.fault;
    if (expected === undefined || field === "") throw invalidValue(message);
    throw invalidValue(`Expected \`${place}.${field}\` to be ${expected}, got ${shown(got)}`);
  }
  const { limits = {}, slots = ceiling.slots, pools = ceiling.pools, ...asked } = read.value;
  const more = pools?.findIndex((pool) => !(ceiling.pools ?? [pool]).includes(pool)) ?? -1;
  if (more >= 0) {
    const allowed = `one of ${listed(ceiling.pools ?? [])}`;
    throw faulty(`${place}.`, new Refusal(`pools[${more}]`, pools?.[more], allowed));
  }
  if (slots !== undefined && slots > (ceiling.slots ?? slots)) {
    throw faulty(`${place}.`, new Refusal("slots", slots, `at most ${ceiling.slots}`));
  }
  const options = narrowOptions(ceiling.options, asked);
  if (options instanceof Refusal) throw faulty(`${place}.`, options);
  const lower = lowerLimits(ceiling.limits, limits);
  if (lower instanceof Refusal) throw faulty(`${place}.`, lower);
  return { ...ceiling, slots, pools, options, limits: lower };
}

/**
 * Checks a policy and fills in its defaults.
 *
 * @throws TypeError with code ERR_INVALID_ARG_VALUE that names the field.
 */
export function parseWorkerPolicy(value: unknown): WorkerPolicy {
  const read = checked(policySchema, value, "policy");
  if ("fault" in read) throw invalidValue(read.fault.message);
  const { tenants = {}, bwrapPath = "bwrap", ...written } = read.value;
  const ceiling = ceilingFrom(written, bwrapPath);
  // Object.entries, since a tenant may be called "constructor".
  const named = Object.entries(tenants).map(
    ([name, override]) => [name, tenantCeiling(name, ceiling, override)] as const,
  );
  return { ceiling, tenants: new Map(named) };
}

/** Returns the policy of a worker without a policy file: no network, and only the default five mounts. */
export function defaultWorkerPolicy(): WorkerPolicy {
  return parseWorkerPolicy({});
}

/**
 * Reads a policy from a JSON file with optional comments: a regular file or a link to one, of at most 1 MiB.
 *
 * @throws (rejects) TypeError with code ERR_INVALID_ARG_VALUE that names the file and the error
 */
export async function loadWorkerPolicy(path: string): Promise<WorkerPolicy> {
  try {
    const bytes = await readRegularFile(path, kMaxConfigBytes);
    return parseWorkerPolicy(JSON.parse(stripJsonComments(bytes.toString("utf8"))));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalidValue(`${path}: ${reason}`, cause);
  }
}
